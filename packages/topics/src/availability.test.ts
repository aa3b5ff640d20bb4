import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type AvailabilityChange, availability } from './availability.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('an outage is reported with the earliest time at which a watcher missed the brokers', () => {
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

it('refusals come before outages, all of them, and are reported again at once when they change', () => {
  const changes: AvailabilityChange[] = [];
  const brokers = availability((change) => changes.push(change));
  const now = Date.now();
  const [away, reader, writer] = [brokers.watcher(), brokers.watcher(), brokers.watcher()];
  away.missed('gone');
  reader.missed('lacks Read', undefined, true);
  vi.advanceTimersByTime(2_000);
  reader.missed('lacks Read', undefined, true);
  writer.missed('lacks Write', undefined, true);
  reader.reached();
  writer.reached();
  away.missed('still gone');
  away.reached();
  const refused = (reason: string): AvailabilityChange => ({ available: false, refused: true, reason, sinceMs: now });
  expect(changes).toEqual([
    refused('lacks Read'),
    refused('lacks Read; lacks Write'),
    refused('lacks Write'),
    { available: false, reason: 'gone', sinceMs: now },
    { available: true },
  ]);
});

it('an outage in which the last watcher gives up is over when another one reaches the brokers, and not before', () => {
  const changes: AvailabilityChange[] = [];
  const brokers = availability((change) => changes.push(change));
  const [one, other, late] = [brokers.watcher(), brokers.watcher(), brokers.watcher()];
  one.missed('gone');
  one.gaveUp();
  vi.advanceTimersByTime(2_000);
  expect(changes).toEqual([]);
  one.missed('gone');
  other.missed('gone');
  vi.advanceTimersByTime(2_000);
  one.gaveUp();
  other.gaveUp();
  expect(changes).toMatchObject([{ available: false }]);
  late.reached();
  late.reached();
  expect(changes).toMatchObject([{ available: false }, { available: true }]);
});
