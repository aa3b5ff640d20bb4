import { describe, expect, it } from 'vitest';
import { faultKind, faultWords } from './fault-kind.ts';
import type { RunEvent } from './run-event.ts';

type RequestEvent = Extract<RunEvent, { type: 'request' }>;

function transient(more: Partial<RequestEvent>): RequestEvent {
  return { type: 'request', service: 'followers', credential: 'app', subject: '@alpha', outcome: 'transient', ...more };
}

describe('kinds of faults', () => {
  it.each([
    [{ status: 503, reason: 'Service Unavailable' }, 503, '2 times 503'],
    [{ reason: 'read ECONNRESET' }, 'reset', '2 resets'],
    [{ reason: 'other side closed' }, 'reset', '2 resets'],
    [{ reason: 'no answer within 30 s: timed out' }, 'time-out', '2 time-outs'],
    [{ reason: 'Headers Timeout Error' }, 'time-out', '2 time-outs'],
    [{ reason: 'connect ECONNREFUSED 127.0.0.1:1' }, 'refused', '2 refused connections'],
    [{ status: 200, reason: 'HTML instead of JSON' }, 'html', '2 times HTML'],
    [{ status: 200, reason: 'the body is truncated' }, 'truncated', '2 truncated answers'],
    [{ status: 200, reason: 'more than 16,777,216 bytes' }, 'too-large', '2 oversized answers'],
    [{ reason: 'who knows' }, 'other', '2 of other kinds'],
    [{ outcome: 'rate-limited' }, 429, '2 times 429'],
  ] as const)('%j', (event, kind, words) => {
    expect(faultKind(transient(event))).toBe(kind);
    expect(faultWords(kind, 2)).toBe(words);
  });

  it.each(['ok', 'gone', 'unauthorized', 'fatal'] as const)('an answer that is %s is no fault', (outcome) => {
    expect(faultKind(transient({ outcome, status: 404 }))).toBeUndefined();
  });
});
