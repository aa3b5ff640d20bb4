import { durationWords } from './text/duration-words.ts';
import { displayWidth } from './text/cells.ts';
import { safeText } from './text/safe-text.ts';
import type { LogDriver, LogEvent, LogUnavailable } from './display-event.ts';
import type { TimeWords } from './text/time-words.ts';

const gone: Readonly<Record<LogDriver, string>> = {
  kafka: "kafka can't be reached",
  sqlite: "the topic log can't be written",
  own: "the topic log can't be reached",
};
const back: Readonly<Record<LogDriver, string>> = {
  kafka: 'kafka can be reached again',
  sqlite: 'the topic log can be written again',
  own: 'the topic log can be reached again',
};
/** A dozen topics, each by its name. */
const LONGEST_REASON = 800;

/** The part of a run's view that is about its log. */
interface LogView {
  readonly logUnavailable?: LogUnavailable;
  readonly now: number;
}

/** A short description of a log's outage, without its reason: `kafka can't be reached`. */
export function goneWords({ driver, refused }: Pick<LogUnavailable, 'driver' | 'refused'>): string {
  return refused ? `${driver} refuses` : gone[driver];
}

function comfort({ refused }: Pick<LogUnavailable, 'refused'>): string {
  return `nothing is lost; continues automatically${refused ? ' once that is granted' : ''}`;
}

/** Describes the outage of the log on one line, or on two if it is wider than `width` cells. Default: unlimited. */
export function logUnavailableLines({ logUnavailable, now }: LogView, times: TimeWords, width: number = Infinity): readonly string[] {
  if (logUnavailable === undefined) return [];
  const { since } = logUnavailable;
  const reason = safeText(logUnavailable.reason, LONGEST_REASON);
  const elapsed = now - since < 1_000 ? '' : `, for ${durationWords(Math.floor((now - since) / 1_000) * 1_000)}`;
  const said = `${goneWords(logUnavailable)} since ${times.when(since, now)}${elapsed}`;
  const line = `${said} (${reason}): ${comfort(logUnavailable)}`;
  // A narrow terminal cuts the end, which must be that of the reason.
  return displayWidth(line) <= width ? [line] : [`${said}:`, `${comfort(logUnavailable)} (${reason})`];
}

/** A change of the log's availability, on one line. */
export function logEventWords(event: LogEvent): string {
  if (event.type === 'log-available') return back[event.driver];
  return `${goneWords(event)} (${safeText(event.reason, LONGEST_REASON)}): ${comfort(event)}`;
}

/** Reports each change of the log's availability once, each change of its refusal, and the duration, however often it is notified. */
export function logLines(now: () => number): (event: LogEvent) => string | undefined {
  let before: Extract<LogEvent, { type: 'log-unavailable' }> | undefined;
  return (event) => {
    const was = before;
    before = event.type === 'log-available' ? undefined : { ...event, since: was?.since ?? event.since };
    if (event.type === 'log-available') {
      if (was === undefined) return undefined;
      const said = was.refused ? `${event.driver} has granted what was missing` : logEventWords(event);
      return `${said} after ${durationWords(now() - was.since)}`;
    }
    const isNew = was === undefined || (event.refused ? event.reason : undefined) !== (was.refused ? was.reason : undefined);
    return isNew ? logEventWords(event) : undefined;
  };
}
