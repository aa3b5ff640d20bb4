import type { Reason } from '@headgate/pipeline';
import { logEventWords } from './format-outage.ts';
import { durationWords } from './text/duration-words.ts';
import { countWords, groupedNumber, singularOf } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import type { DisplayEvent } from './display-event.ts';
import type { Level } from './text/json-message.ts';

/** How displays report an event. `EVENTS` has one entry for each type of event. */
interface EventWords<Event> {
  /** One printable line, whatever the names in it contain. `units`: names of the pipelines' items. */
  readonly words: (event: Event, units: Units) => string;
  readonly level: Level | ((event: Event) => Level);
  /** Whether the plain lines report the event individually, summed with others of the same request (at most once a second), or never. */
  readonly plain: 'each' | 'summed' | 'never' | ((event: Event) => 'each' | 'never');
  /** Whether the event's line scrolls above the live display and stays there. Default: it doesn't. */
  readonly isKept?: (event: Event) => boolean;
}

export type Units = Readonly<Record<string, string>>;

const always = (): boolean => true;

const EVENTS: { readonly [Type in DisplayEvent['type']]: EventWords<Extract<DisplayEvent, { type: Type }>> } = {
  'request-started': {
    words: ({ key, resumed, page }) => `${safeText(key)} ${resumed ? `continues at page ${page}` : 'starts'}`,
    level: 'info',
    // A group can have thousands of jobs. The lines about their pages report them together.
    plain: ({ group }) => (group === undefined ? 'each' : 'never'),
  },
  'page-written': {
    words: ({ key, page, items, pipeline }, units) => `${safeText(key)} page ${page}: ${itemsWords(items, pipeline, units)}`,
    level: 'info',
    plain: 'summed',
  },
  'request-completed': {
    words: ({ key, pages, items, pipeline }, units) =>
      `${safeText(key)} done: ${countWords(pages, 'page')}, ${itemsWords(items, pipeline, units)}`,
    level: 'info',
    plain: 'summed',
  },
  // The event `dead-letter` reports the same error.
  'request-failed': { words: ({ key, error }) => reasonWords(key, error), level: 'error', plain: 'never' },
  'keys-queued': { words: ({ pipeline, count }) => `${pipeline}: ${countWords(count, 'key')} to look up`, level: 'info', plain: 'each' },
  'keys-answered': { words: ({ pipeline, count }) => `${pipeline}: ${countWords(count, 'key')} answered`, level: 'info', plain: 'summed' },
  'records-written': { words: ({ pipeline, counts }) => `${pipeline}: ${countsWords(counts)} written`, level: 'info', plain: 'never' },
  'after-written': {
    words: ({ key, kinds }) => `${safeText(key)}, after its last page: ${countsWords(kinds)}`,
    level: 'info',
    plain: 'each',
  },
  'dead-letter': {
    words: ({ key, error, topic }) => `${reasonWords(key, error)} It is in ${safeText(topic)}.`,
    level: 'error',
    plain: 'each',
    isKept: always,
  },
  attempt: {
    words: ({ subject, outcome, reason = '', status, retryInMs }) => {
      const unsaid = status === undefined ? outcome : `${outcome} (${status})`;
      const said = reason === '' ? unsaid : reasonWithout(subject, { code: outcome, message: reason });
      // After `unauthorized`, the request continues with another secret or credential, or not at all, so no retry is announced.
      const again =
        retryInMs === undefined || outcome === 'unauthorized' ? '' : `, retry ${retryInMs <= 0 ? 'now' : `in ${durationWords(retryInMs)}`}`;
      return `${safeText(subject, 100)}: ${again === '' ? said : said.replace(/\.$/, '')}${again}`;
    },
    level: ({ outcome }) => (outcome === 'ok' || outcome === 'gone' ? 'info' : 'warn'),
    // A request that isn't retried after an error is reported by another event, such as a dead letter.
    plain: ({ outcome, retryInMs }) => (outcome !== 'ok' && (retryInMs !== undefined || outcome === 'rate-limited') ? 'each' : 'never'),
  },
  'service-unavailable': {
    words: ({ pipeline, reason }) =>
      `${pipeline}: every attempt fails (${safeText(reason, 200).replace(/\.$/u, '')}). One request retries, and the others wait. If one gives up, it becomes a dead letter.`,
    level: 'warn',
    plain: 'each',
  },
  'service-available': {
    words: ({ pipeline, lastedMs }) => `${pipeline}: attempts succeed again after ${durationWords(lastedMs)}`,
    level: 'info',
    plain: 'each',
    isKept: always,
  },
  notice: { words: ({ message }) => safeText(message, 1000), level: ({ level }) => level, plain: 'each', isKept: always },
  'lanes-assigned': {
    words: ({ lanes }) => `the group assigned ${countWords(lanes, 'lane')} to this process`,
    level: 'info',
    plain: 'never',
  },
  'lane-opened': { words: ({ pipeline, lane }) => `${pipeline} lane ${lane}: this process holds it now`, level: 'info', plain: 'each' },
  'lane-left': {
    words: ({ pipeline, lane, reason = '', failed }) => {
      if (failed) return failedLaneWords({ pipeline, lane, reason });
      const why = safeText(reason).replace(/[.;\s]+$/, '');
      if (why === '') return `${pipeline} lane ${lane}: released; the next process that opens it continues its unfinished jobs`;
      return `${pipeline} lane ${lane}: ${why}; this process stopped working on it. No data is lost.`;
    },
    level: ({ failed, reason }) => (failed ? 'error' : reason === undefined ? 'info' : 'warn'),
    plain: 'each',
    // If a lane is released normally, the header shows the lanes that remain, so no line needs to stay.
    isKept: ({ reason }) => reason !== undefined,
  },
  'requests-blocked': {
    words: (event) => blockedLaneWords(event, new Date(event.since).toISOString()),
    level: 'warn',
    plain: 'each',
  },
  'requests-readable': {
    words: ({ pipeline, lane }) => `${pipeline} lane ${lane}: the transaction its jobs waited for has ended`,
    level: 'info',
    plain: 'each',
    isKept: always,
  },
  // The summary reports this instead.
  'lanes-elsewhere': { words: ({ lanes }) => elsewhereWords(lanes), level: 'info', plain: 'never' },
  'log-unavailable': { words: logEventWords, level: 'warn', plain: 'each' },
  'log-available': { words: logEventWords, level: 'info', plain: 'each', isKept: always },
};

export const EVENT_TYPES: readonly string[] = Object.keys(EVENTS);

export interface EventText {
  readonly words: string;
  readonly level: Level;
  readonly plain: 'each' | 'summed' | 'never';
  readonly isKept: boolean;
}

/** An event for displays. Its text is created on demand, because many events are never shown one by one. */
export function eventText(event: DisplayEvent, units: Units): EventText {
  const entry = EVENTS[event.type] as EventWords<DisplayEvent>;
  return {
    get words() {
      return entry.words(event, units);
    },
    level: typeof entry.level === 'string' ? entry.level : entry.level(event),
    plain: typeof entry.plain === 'string' ? entry.plain : entry.plain(event),
    isKept: entry.isKept?.(event) ?? false,
  };
}

/** Whether the plain lines report an event individually. The list of recent events uses the same rule. */
export function isNews(event: DisplayEvent): boolean {
  return eventText(event, {}).plain === 'each';
}

/** A count with the pipeline's own word for its items: `5,000 ids`. */
export function itemsWords(count: number, pipeline: string, units: Units): string {
  const unit = units[pipeline] ?? 'records';
  return countWords(count, count === 1 ? singularOf(unit) : unit, unit);
}

/** `3 records, 1 missing`; `no record` if there is none. */
export function countsWords(counts: Readonly<Record<string, number>>): string {
  const said = Object.entries(counts).map(
    ([kind, count]) => `${groupedNumber(count)} ${safeText(count === 1 ? singularOf(kind) : kind, 60)}`,
  );
  return said.length === 0 ? 'no record' : said.join(', ');
}

export function failedLaneWords({ pipeline, lane, reason }: { pipeline: string; lane: number; reason: string }): string {
  const why = safeText(reason, 500).replace(/[.;\s]+$/, '');
  return `${pipeline} lane ${lane} can't continue: ${why}. Its jobs wait for the next run.`;
}

/** `followers lane 0: since 10:31:04 another client's open transaction (offset 12) blocks jobs; they continue when it ends`. */
export function blockedLaneWords({ pipeline, lane, offset }: { pipeline: string; lane: number; offset: number }, since: string): string {
  return (
    `${pipeline} lane ${lane}: since ${since} another client's open transaction (offset ${offset}) blocks jobs; ` +
    'they continue when it ends'
  );
}

/** `1 other lane is held by other processes of the group`. */
export function elsewhereWords(count: number): string {
  return `${countWords(count, 'other lane')} ${count === 1 ? 'is' : 'are'} held by other processes of the group`;
}

/** Why something failed, as a sentence that names its subject once: `@carol: the account is protected (401).` */
function reasonWords(subject: string, error: Reason): string {
  const name = safeText(subject, 100);
  const message = safeText(error.message === '' ? error.code : error.message, 500);
  const said = names(message, name) ? message : `${name}: ${message}`;
  return /[.!?…]$/.test(said) ? said : `${said}.`;
}

/** Only the reason, for a place that already shows the name. */
export function reasonWithout(subject: string, error: Reason): string {
  const name = safeText(subject, 100);
  const message = safeText(error.message === '' ? error.code : error.message, 500);
  return message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message;
}

function names(message: string, name: string): boolean {
  const at = message.indexOf(name);
  if (at < 0 || name === '') return false;
  // "412 pages" doesn't name the user 12.
  return !/[\p{L}\p{N}_@]/u.test(message.charAt(at - 1)) && !/[\p{L}\p{N}_]/u.test(message.charAt(at + name.length));
}
