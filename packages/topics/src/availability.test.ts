import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type AvailabilityChange, availability } from './availability.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('an outage is told with the earliest time from which anybody has missed the brokers', () => {
  const changes: AvailabilityChange[] = [];
  const brokers = availability((change) => changes.push(change));
  const now = Date.now();
  const [one, other] = [brokers.watcher(), brokers.watcher()];
  one.missed('gone', now - 1_000);
  other.missed('silent', now - 3_000);
  vi.advanceTimersByTime(1_000);
  other.missed('gone, too', now + 1_000);
  vi.advanceTimersByTime(1_000);
  expect(changes).toEqual([{ available: false, reason: 'gone', sinceMs: now - 3_000 }]);
});
