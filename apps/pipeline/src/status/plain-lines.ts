import type { RunEvent } from '@headgate/pipeline';
import { EXPLAINED_REFUSALS } from '@headgate/pipeline/internal';
import { itemsWords, type EventText, eventText, type Units } from './format-event.ts';
import { logLines } from './format-outage.ts';
import type { Reporter, ReporterOptions } from './reporter.ts';
import { every, type RunView } from './run-view.ts';
import { type Screen, NO_JOBS, screenOf } from './screen.ts';
import { countWords } from './text/number-words.ts';
import type { Output } from './text/plain-output.ts';
import { safeText } from './text/safe-text.ts';
import { createTimeWords, type TimeWords } from './text/time-words.ts';
import { budgetName, groupWords } from './format-row.ts';

const TICK_MS = 1_000;
const QUIET_MS = 3_000;
const SPACING_MS = 1_000;

/**
 * Writes events as lines, such as `10:31:04 @alpha page 412: 5,000 ids`. The progress of a request takes at most one line per second. After
 * 3 s without a line, writes what the run waits for, if that has changed.
 */
export function createPlainLines(
  options: Pick<ReporterOptions, 'clock' | 'view' | 'units' | 'header' | 'commandFor' | 'timeZone'> & { readonly stderr: Output },
): Reporter {
  const { stderr, clock, view, units } = options;
  const times = createTimeWords(options);
  const logLine = logLines({ clock });
  // Measures the time between lines on the monotonic clock, because the time of day can be set back.
  const progressOf = (pipeline: string, group: string): string => groupLine(view(), pipeline, group, units);
  const summed = summedLines(() => clock.monotonicMs(), write, units, progressOf);
  let lastLineAt = clock.monotonicMs();
  let lastWait = '';
  /** Pipelines whose service outage a line has already reported. */
  const failing = new Set<string>();
  /** Number of refusals because of a rate limit, by pipeline. */
  const refusals = new Map<string, number>();

  write(safeText(options.header));
  const stop = every(clock, TICK_MS, () => {
    summed.flush();
    sayWait();
  });

  return {
    event(event) {
      if (event.type === 'log-unavailable' || event.type === 'log-available') {
        const line = logLine(event);
        if (line !== undefined) write(line);
        return;
      }
      if (event.type === 'request-failed') summed.end(event.request);
      if (event.type === 'lane-left') summed.flush('all');
      if (event.type === 'service-unavailable') failing.add(event.pipeline);
      if (event.type === 'service-available') failing.delete(event.pipeline);
      // One outage is reported once, however many requests it affects.
      if (event.type === 'attempt' && event.outcome === 'transient' && failing.has(event.pipeline)) return;
      if (event.type === 'attempt' && event.outcome === 'rate-limited') {
        const count = (refusals.get(event.pipeline) ?? 0) + 1;
        refusals.set(event.pipeline, count);
        if (count > EXPLAINED_REFUSALS) return;
      }
      const text = eventText(event, units);
      if (text.plain === 'each') write(text.words);
      else if (text.plain === 'summed') summed.add(event as Summed, text);
    },
    close() {
      stop();
      summed.flush('all');
    },
  };

  function write(line: string): void {
    lastLineAt = clock.monotonicMs();
    stderr.write(`${times.time(clock.epochMs())} ${line}\n`);
  }

  function sayWait(): void {
    if (clock.monotonicMs() - lastLineAt < QUIET_MS) return;
    const now = view();
    const lines = waitLines(now, screenOf(now, { times, commandFor: options.commandFor, jobs: NO_JOBS }), times);
    const said = lines.join('\n');
    if (said !== lastWait) lines.forEach(write);
    lastWait = said;
  }
}

/** `comments: 22 of 360 jobs; 22 pages, 220 records`: the progress of a group. */
function groupLine({ pipelines }: RunView, pipeline: string, name: string, units: Units): string {
  const group = pipelines[pipeline]?.groups?.[name];
  if (group === undefined) return '';
  return `${groupWords(group, 'job')}; ${countWords(group.pages, 'page')}, ${itemsWords(group.items, pipeline, units)}`;
}

/** Why nothing happens. An outage of the log or of a service has its own lines, when it begins and ends. */
function waitLines(view: RunView, { notes, waits }: Screen, times: TimeWords): string[] {
  if (view.logUnavailable !== undefined && !view.isStopping) return [];
  const held = waits.map(({ budget, what }) => {
    const { used, limit, freeAt } = budget;
    const next = freeAt === undefined ? 'when a request in flight is answered' : `at ${times.when(freeAt, view.now)}`;
    return `${what} waits for ${budgetName(budget)}, ${used}/${limit} used: next request ${next}`;
  });
  return [...notes.map(({ words }) => words), ...held];
}

type Summed = Extract<RunEvent, { type: 'page-written' | 'request-completed' | 'keys-answered' }>;

/** Pages of a request, keys of a pipeline, or jobs of a group that no line has reported yet. */
interface Held {
  lastLineAt: number;
  readonly name: string;
  readonly pipeline: string;
  first: number;
  last: number;
  /** Number of items on these pages, number of keys, or number of events of a group. */
  count: number;
  readonly group: string | undefined;
  /** Words about the end of the request; empty while it continues. */
  done: string;
}

/** Lines about progress, at most one a second for each request or group of jobs. `progressOf`: the line of a group. */
function summedLines(
  now: () => number,
  write: (line: string) => void,
  units: Units,
  progressOf: (pipeline: string, group: string) => string,
) {
  const held = new Map<string, Held>();

  const say = (about: string, one: Held): void => {
    const { name, pipeline, first, last, count, done, group } = one;
    const pages = first === last ? `page ${last}` : `pages ${first} to ${last}`;
    const keys = count === 0 ? '' : `${countWords(count, 'key')} answered`;
    const ofGroup = group === undefined || count === 0 ? '' : progressOf(pipeline, group);
    const what = group !== undefined ? ofGroup : last === 0 ? keys : `${pages}: ${itemsWords(count, pipeline, units)}`;
    const parts = [what, done].filter((part) => part !== '');
    if (parts.length > 0) write(`${name}${last === 0 && done === '' ? ':' : ''} ${parts.join('; ')}`);
    if (parts.length > 0) one.lastLineAt = now();
    if (done !== '') held.delete(about);
    one.first = one.last = one.count = 0;
  };

  return {
    add(event: Summed, text: EventText): void {
      const isKeys = event.type === 'keys-answered';
      const { pipeline } = event;
      const group = isKeys ? undefined : event.group;
      const about = isKeys ? `keys ${pipeline}` : group === undefined ? event.request : `group ${pipeline} ${group}`;
      const name = isKeys ? pipeline : safeText(group ?? event.key);
      const one = held.get(about) ?? { lastLineAt: -Infinity, name, pipeline, group, first: 0, last: 0, count: 0, done: '' };
      held.set(about, one);
      if (group !== undefined) one.count += 1;
      else if (event.type === 'request-completed') one.done = text.words.slice(name.length + 1);
      else if (event.type === 'page-written') {
        one.first ||= event.page;
        one.last = event.page;
        one.count += event.items;
      } else one.count += event.count;
      if (now() - one.lastLineAt >= SPACING_MS) say(about, one);
    },
    /** Writes what has been held back for a second, or all of it. */
    flush(which?: 'all'): void {
      for (const [about, one] of held) if (which === 'all' || now() - one.lastLineAt >= SPACING_MS) say(about, one);
    },
    /** Writes the unreported pages of a request that has ended. */
    end(request: string): void {
      const one = held.get(request);
      if (one !== undefined) say(request, one);
      held.delete(request);
    },
  };
}
