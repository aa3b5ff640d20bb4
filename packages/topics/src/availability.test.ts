import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type AvailabilityChange, availability } from './availability.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('an outage is reported with the earliest time at which a watcher missed the brokers', () => {
  const changes: AvailabilityChange[] = [];
  const brokers = availability((change) => changes.push(change));
  const now = Date.now();
  const [one, other] = [brokers.watcher(), brokers.watcher()];
  one.unavailable('gone', now - 1_000);
  other.unavailable('silent', now - 3_000);
  vi.advanceTimersByTime(1_000);
  other.unavailable('gone, too', now + 1_000);
  vi.advanceTimersByTime(1_000);
  expect(changes).toEqual([{ available: false, reason: 'gone', sinceMs: now - 3_000 }]);
});

it('a broker that doesn’t respond is named before what follows from that', () => {
  const changes: AvailabilityChange[] = [];
  const brokers = availability((change) => changes.push(change));
  const [writer, connection] = [brokers.watcher(), brokers.watcher()];
  writer.unavailable('a transaction is still ending');
  connection.unavailable("broker-1 isn't responding", undefined, true);
  vi.advanceTimersByTime(2_000);
  expect(changes).toMatchObject([{ reason: "broker-1 isn't responding" }]);
});

it('an outage in which the last watcher gives up is over when another one reaches the brokers, and not before', () => {
  const changes: AvailabilityChange[] = [];
  const brokers = availability((change) => changes.push(change));
  const [one, other, late] = [brokers.watcher(), brokers.watcher(), brokers.watcher()];
  one.unavailable('gone');
  one.abandoned();
  vi.advanceTimersByTime(2_000);
  expect(changes).toEqual([]);
  one.unavailable('gone');
  other.unavailable('gone');
  vi.advanceTimersByTime(2_000);
  one.abandoned();
  other.abandoned();
  expect(changes).toMatchObject([{ available: false }]);
  late.available();
  late.available();
  expect(changes).toMatchObject([{ available: false }, { available: true }]);
});
