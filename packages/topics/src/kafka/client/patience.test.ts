import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { failureText } from './driver-errors.ts';
import { patience } from './patience.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => vi.useRealTimers());

it('does not report brokers as unreachable because they refuse an older producer', () => {
  const told: string[] = [];
  const watcher = { missed: (reason: string) => void told.push(reason), reached: () => undefined, gaveUp: () => undefined };
  const waiting = patience({ watcher, failureText, waitsForRights: false });
  waiting.missed(Object.assign(new Error('fenced'), { type: 'INVALID_PRODUCER_EPOCH' }));
  expect(told).toEqual([]);
});

it('does not report brokers as unreachable because of an unknown topic, before it has lasted longer than a missing topic would', () => {
  const told: string[] = [];
  const watcher = { missed: (reason: string) => void told.push(reason), reached: () => void told.push('reached'), gaveUp: () => undefined };
  const waiting = patience({ watcher, failureText, waitsForRights: false });
  const unknown = Object.assign(new Error('no such topic'), { type: 'UNKNOWN_TOPIC_OR_PARTITION', retriable: true });
  const missedAfter = (ms: number): void => {
    vi.setSystemTime(Date.now() + ms);
    waiting.missed(unknown);
  };
  missedAfter(0);
  missedAfter(5_000);
  expect(told).toEqual([]);
  missedAfter(2_000);
  expect(told).toEqual(['no such topic (UNKNOWN_TOPIC_OR_PARTITION)']);
  waiting.reached();
  missedAfter(1_000);
  expect(told.slice(1)).toEqual(['reached']);
});
