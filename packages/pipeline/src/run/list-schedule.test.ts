import { virtualClock } from '@headgate/throttle/testing';
import { expect, test } from 'vitest';
import { listSchedule } from './list-schedule.ts';

const SECOND = 1_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Runs a schedule of lists with these periods, and with markers in memory. `looks` and `enqueued` record times in ms since the start. */
function lists(periods: readonly number[], { markedMsAgo = 0, failures = 0 } = {}) {
  const clock = virtualClock();
  const startMs = clock.epochMs();
  const markers = periods.map((everyMs) => ({ everyMs, at: startMs - markedMsAgo }));
  const looks: number[] = [];
  const enqueued: (readonly [everyMs: number, at: number])[] = [];
  const told: number[] = [];
  const nothingDue = () => ({
    from: Math.max(...markers.map(({ everyMs, at }) => at - everyMs)),
    until: Math.min(...markers.map(({ everyMs, at }) => at + everyMs)),
  });
  let left = failures;
  listSchedule(
    nothingDue(),
    async () => {
      looks.push(clock.monotonicMs());
      if (left-- > 0) throw new Error('the log is busy');
      const now = clock.epochMs();
      for (const marker of markers) {
        if (now >= marker.at - marker.everyMs && now < marker.at + marker.everyMs) continue;
        marker.at = now;
        enqueued.push([marker.everyMs, clock.monotonicMs()]);
      }
      return nothingDue();
    },
    clock,
    (_, retryInMs) => told.push(retryInMs),
  );
  return { clock, looks, enqueued, told };
}

test('a restart does not change when a list is due', async () => {
  const { clock, looks } = lists([DAY], { markedMsAgo: 23 * HOUR });
  await clock.advance(2 * DAY);
  expect(looks).toEqual([HOUR, HOUR + DAY]);
});

test('each list has its own period, and nothing is polled in between', async () => {
  const { clock, looks, enqueued } = lists([7 * HOUR, DAY]);
  await clock.advance(2 * DAY);
  expect(enqueued.filter(([everyMs]) => everyMs === DAY).map(([, at]) => at / HOUR)).toEqual([24, 48]);
  expect(enqueued.filter(([everyMs]) => everyMs !== DAY).map(([, at]) => at / HOUR)).toEqual([7, 14, 21, 28, 35, 42]);
  expect(looks).toHaveLength(enqueued.length);
});

test('a period can be a few seconds', async () => {
  const { clock, enqueued } = lists([25 * SECOND]);
  await clock.advance(100 * SECOND);
  expect(enqueued.map(([, at]) => at / SECOND)).toEqual([25, 50, 75, 100]);
});

test('a period can be longer than a timer allows', async () => {
  const { clock, enqueued } = lists([30 * DAY]);
  await clock.advance(61 * DAY);
  expect(enqueued.map(([, at]) => at / DAY)).toEqual([30, 60]);
});

test('a step of the wall clock delays nothing by more than the step, and skips nothing', async () => {
  const { clock, enqueued } = lists([HOUR]);
  await clock.advance(30 * 60 * SECOND);
  clock.stepEpoch(-5 * SECOND);
  await clock.advance(HOUR);
  expect(enqueued.map(([, at]) => at)).toEqual([HOUR + 5 * SECOND]);
  clock.stepEpoch(HOUR);
  await clock.advance(60 * SECOND);
  expect(enqueued).toHaveLength(2);
});

test('a list that was marked by a clock more than a period ahead is due at once', async () => {
  const { clock, enqueued } = lists([HOUR], { markedMsAgo: -3 * HOUR });
  await clock.advance(60 * SECOND);
  expect(enqueued.map(([, at]) => at)).toEqual([60 * SECOND]);
});

test('a failed check is retried with backoff, and does not shift the period', async () => {
  const { clock, looks, told, enqueued } = lists([HOUR], { failures: 8 });
  await clock.advance(2 * HOUR + 10 * 60 * SECOND);
  expect(looks.slice(0, 9).map((at) => (at - HOUR) / SECOND)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183]);
  expect(told.map((ms) => ms / SECOND)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  expect(enqueued.map(([, at]) => (at - HOUR) / SECOND)).toEqual([183, 183 + 3_600]);
});

test('a stop leaves no timer, even during a check', async () => {
  const clock = virtualClock();
  const looking = Promise.withResolvers<never>();
  const told: unknown[] = [];
  const now = clock.epochMs();
  const schedule = () =>
    listSchedule(
      { from: now - HOUR, until: now + 1 },
      () => looking.promise,
      clock,
      (e) => told.push(e),
    );
  schedule()();
  expect(clock.pending).toBe(0);
  const stop = schedule();
  await clock.advance(1);
  stop();
  looking.reject(new Error('the log is closed'));
  await clock.settle();
  expect([clock.pending, told]).toEqual([0, []]);
});

test('lists without a period need no timer', () => {
  const clock = virtualClock();
  const enqueueDue = () => Promise.reject(new Error('nobody asked'));
  listSchedule({ from: -Infinity, until: Infinity }, enqueueDue, clock, () => undefined);
  expect(clock.pending).toBe(0);
});
