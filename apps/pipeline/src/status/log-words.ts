import { displayWidth } from './text/display-width.ts';
import { durationWords } from './text/duration-words.ts';
import { safeText } from './text/safe-text.ts';
import type { LogDriver, RunEvent } from './run-event.ts';
import type { LogUnavailable } from './run-snapshot.ts';
import type { TimeWords } from './text/time-words.ts';

export type LogEvent = Extract<RunEvent, { type: 'log-unavailable' | 'log-available' }>;

/** That a log can't be worked with, by its driver. */
export const gone: Readonly<Record<LogDriver, string>> = { kafka: "kafka can't be reached", sqlite: "the topic log can't be written" };
const back: Readonly<Record<LogDriver, string>> = { kafka: 'kafka can be reached again', sqlite: 'the topic log can be written again' };
/** A dozen topics, each by its name. */
const LONGEST_REASON = 800;

/** Why, on one line and fit to be printed. */
export function logReason({ reason }: { readonly reason: string }): string {
  return safeText(reason, LONGEST_REASON);
}

interface Unavailable {
  readonly driver: LogDriver;
  readonly refused?: true;
}

function goneWords({ driver, refused }: Unavailable): string {
  return refused ? `${driver} refuses` : gone[driver];
}

function comfort({ refused }: Unavailable): string {
  return `nothing is lost, goes on by itself${refused ? ' once that is given' : ''}`;
}

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
  const { since, reason } = unavailable;
  const seconds = Math.floor((now - since) / 1000);
  const elapsed = seconds < 1 ? '' : `, for ${durationWords(seconds * 1000)}`;
  const said = `${goneWords(unavailable)} since ${times.when(since, now)}${elapsed}`;
  const line = `${said} (${reason}): ${comfort(unavailable)}`;
  // A narrow terminal cuts the end, which is to be the reason's.
  return displayWidth(line) <= width ? [line] : [`${said}:`, `${comfort(unavailable)} (${reason})`];
}

/** A change of the log's availability, on one line. */
export function logEventWords(event: LogEvent): string {
  switch (event.type) {
    case 'log-unavailable':
      return `${goneWords(event)} (${logReason(event)}): ${comfort(event)}`;
    case 'log-available':
      return back[event.driver];
  }
}

export interface LogLines {
  /** The line for a change; undefined where nothing has changed. */
  say(event: LogEvent): string | undefined;
}

/** Says each change of the log's availability once, what it refuses anew where that changes, and how long it was gone, however often it is told. */
export function createLogLines(options: {
  /** Epoch ms. */
  readonly now: () => number;
}): LogLines {
  let since: number | undefined;
  let refused: string | undefined;

  return {
    say(event) {
      const [wasGoneSince, wasRefused] = [since, refused];
      since = event.type === 'log-available' ? undefined : (since ?? event.since ?? options.now());
      refused = event.type === 'log-unavailable' && event.refused ? event.reason : undefined;
      if (event.type === 'log-unavailable' && wasGoneSince !== undefined) return refused === wasRefused ? undefined : logEventWords(event);
      if ((since === undefined) === (wasGoneSince === undefined)) return undefined;
      const after = wasGoneSince === undefined ? '' : ` after ${durationWords(options.now() - wasGoneSince)}`;
      return `${wasRefused === undefined ? logEventWords(event) : `${event.driver} has granted what was missing`}${after}`;
    },
  };
}
