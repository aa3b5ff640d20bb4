import { countWords } from './text/number-words.ts';
import type { RunEvent } from './run-event.ts';

type RequestEvent = Extract<RunEvent, { type: 'request' }>;

/** Kinds of faults a run counts: an HTTP status, or what happened to the answer. A closed set, so that hostile reasons can't fill the memory. */
export type FaultKind = number | 'reset' | 'time-out' | 'refused' | 'html' | 'truncated' | 'too-large' | 'other';

const signs: readonly (readonly [RegExp, FaultKind])[] = [
  [/reset|socket hang ?up|other side closed|closed the connection|EPIPE/i, 'reset'],
  [/time[sd]?[- ]?out|took longer/i, 'time-out'],
  [/ECONNREFUSED|refused (?:the )?connection|connection refused/i, 'refused'],
  [/html/i, 'html'],
  [/truncated|cut|aborted|incomplete|ended early/i, 'truncated'],
  [/too large|oversize|byte limit|more than .* bytes/i, 'too-large'],
];

/** Which kind of fault a request met; undefined where its answer was no fault (an answer, or a refusal that is final). */
export function faultKind(event: RequestEvent): FaultKind | undefined {
  if (event.outcome !== 'transient' && event.outcome !== 'rate-limited') return undefined;
  if (event.status !== undefined && event.status >= 400 && event.status <= 599) return event.status;
  if (event.outcome === 'rate-limited') return 429;
  const reason = event.reason ?? '';
  return signs.find(([sign]) => sign.test(reason))?.[1] ?? 'other';
}

/** One fault in a word or two: `reset`, `503`. */
export function faultName(kind: FaultKind): string {
  return kind === 'other' ? 'a fault' : String(kind);
}

/** A count of faults in words: `12 resets`, `8 times 503`. */
export function faultWords(kind: FaultKind, count: number): string {
  switch (kind) {
    case 'reset':
      return countWords(count, 'reset');
    case 'time-out':
      return countWords(count, 'time-out');
    case 'refused':
      return countWords(count, 'refused connection');
    case 'html':
      return `${countWords(count, 'time', 'times')} HTML`;
    case 'truncated':
      return countWords(count, 'truncated answer');
    case 'too-large':
      return countWords(count, 'oversized answer');
    case 'other':
      return `${count} of other kinds`;
  }
  return `${countWords(count, 'time', 'times')} ${kind satisfies number}`;
}
