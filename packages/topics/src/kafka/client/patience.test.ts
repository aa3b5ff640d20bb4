import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { failureText } from './driver-errors.ts';
import { answeredError, unknownTopicError } from './answered-error.ts';
import { patience } from './patience.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => vi.useRealTimers());

it('does not report brokers as unreachable because they refuse an older producer', () => {
  const told: string[] = [];
  const watcher = { unavailable: (reason: string) => void told.push(reason), available: () => undefined, abandoned: () => undefined };
  const waiting = patience({ watcher, failureText, waitsForRights: false });
  waiting.unavailable(answeredError(47));
  expect(told).toEqual([]);
});

it('brokers aren’t reported as unreachable because of an unknown topic until that has lasted longer than for a missing topic', () => {
  const told: string[] = [];
  const watcher = {
    unavailable: (reason: string) => void told.push(reason),
    available: () => void told.push('available'),
    abandoned: () => undefined,
  };
  const waiting = patience({ watcher, failureText, waitsForRights: false });
  const unknown = unknownTopicError('pages');
  const missedAfter = (ms: number): void => {
    vi.setSystemTime(Date.now() + ms);
    waiting.unavailable(unknown);
  };
  missedAfter(0);
  missedAfter(5_000);
  expect(told).toEqual([]);
  missedAfter(2_000);
  expect(told).toEqual([expect.stringMatching(/\(UNKNOWN_TOPIC_OR_PARTITION\)$/u)]);
  waiting.available();
  missedAfter(1_000);
  expect(told.slice(1)).toEqual(['available']);
});
