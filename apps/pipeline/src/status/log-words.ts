import { displayWidth } from './text/display-width.ts';
import { durationWords } from './text/duration-words.ts';
import { safeText } from './text/safe-text.ts';
import type { LogDriver, RunEvent } from './run-event.ts';
import type { LogUnavailable } from './run-snapshot.ts';
import type { TimeWords } from './text/time-words.ts';

export type LogEvent = Extract<RunEvent, { type: 'log-unavailable' | 'log-available' }>;

const comfort = 'nothing is lost, goes on by itself';

/** That a log can't be worked with, by its driver. */
export const gone: Readonly<Record<LogDriver, string>> = { kafka: "kafka can't be reached", sqlite: "the topic log can't be written" };
const back: Readonly<Record<LogDriver, string>> = { kafka: 'kafka can be reached again', sqlite: 'the topic log can be written again' };

/** That the log can't be reached, since when and why, and what to do about it: nothing. One line, or two where it is wider than `width` cells. */
export function logUnavailableLines(options: {
  readonly unavailable: LogUnavailable;
  /** Epoch ms. */
  readonly now: number;
  readonly times: TimeWords;
  /** Default: as wide as it comes. */
  readonly width?: number;
}): readonly string[] {
  const { unavailable, now, times, width = Number.POSITIVE_INFINITY } = options;
  const { driver, since, reason } = unavailable;
  const seconds = Math.floor((now - since) / 1000);
  const elapsed = seconds < 1 ? '' : `, for ${durationWords(seconds * 1000)}`;
  const said = `${gone[driver]} since ${times.when(since, now)}${elapsed}`;
  const line = `${said} (${reason}): ${comfort}`;
  // A narrow terminal cuts the end, which is to be the reason's.
  return displayWidth(line) <= width ? [line] : [`${said}:`, `${comfort} (${reason})`];
}

/** A change of the log's availability, on one line. */
export function logEventWords(event: LogEvent): string {
  switch (event.type) {
    case 'log-unavailable':
      return `${gone[event.driver]} (${safeText(event.reason)}): ${comfort}`;
    case 'log-available':
      return back[event.driver];
  }
}

export interface LogLines {
  /** The line for a change; undefined where nothing has changed. */
  say(event: LogEvent): string | undefined;
}

/** Says each change of the log's availability once, and how long it was gone, however often it is told. */
export function createLogLines(options: {
  /** Epoch ms. */
  readonly now: () => number;
}): LogLines {
  let since: number | undefined;

  return {
    say(event) {
      const wasGoneSince = since;
      since = event.type === 'log-available' ? undefined : (since ?? event.since ?? options.now());
      if ((since === undefined) === (wasGoneSince === undefined)) return undefined;
      const after = wasGoneSince === undefined ? '' : ` after ${durationWords(options.now() - wasGoneSince)}`;
      return `${logEventWords(event)}${after}`;
    },
  };
}
