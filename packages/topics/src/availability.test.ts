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

it('refusals come before outages, all of them, and are reported again at once when they change', () => {
  const changes: AvailabilityChange[] = [];
  const brokers = availability((change) => changes.push(change));
  const now = Date.now();
  const [away, reader, writer] = [brokers.watcher(), brokers.watcher(), brokers.watcher()];
  away.unavailable('gone');
  reader.unavailable('lacks Read', undefined, 'refused');
  vi.advanceTimersByTime(2_000);
  reader.unavailable('lacks Read', undefined, 'refused');
  writer.unavailable('lacks Write', undefined, 'refused');
  reader.available();
  writer.available();
  away.unavailable('still gone');
  away.available();
  const refused = (reason: string): AvailabilityChange => ({ available: false, refused: true, reason, sinceMs: now });
  expect(changes).toEqual([
    refused('lacks Read'),
    refused('lacks Read; lacks Write'),
    refused('lacks Write'),
    { available: false, reason: 'gone', sinceMs: now },
    { available: true },
  ]);
});

it('a broker that doesn’t respond is named before what follows from that, unless brokers refuse', () => {
  const changes: AvailabilityChange[] = [];
  const brokers = availability((change) => changes.push(change));
  const [writer, reader, connection] = [brokers.watcher(), brokers.watcher(), brokers.watcher()];
  writer.unavailable('a transaction is still ending');
  connection.unavailable("broker-1 isn't responding", undefined, 'silent');
  vi.advanceTimersByTime(2_000);
  reader.unavailable('lacks Read', undefined, 'refused');
  expect(changes).toMatchObject([{ reason: "broker-1 isn't responding" }, { reason: 'lacks Read', refused: true }]);
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
