import { virtualClock } from '@headgate/throttle/testing';
import { expect, test } from 'vitest';
import { Deadline, delayMs } from './deadline.ts';

test.each([0, 0.5, 0.999_999])('delays double from 500 ms to 30 s, and are at least half of that (random number %d)', (random) => {
  for (const [failures, delay] of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000].entries()) {
    expect(delayMs(failures, () => random)).toBeCloseTo((delay * (1 + random)) / 2);
  }
});

test('the time begins with the first failure', async () => {
  const clock = virtualClock();
  const deadline = new Deadline(() => clock.monotonicMs(), 1_000);
  await clock.advance(5_000);
  expect(deadline.now).toEqual({ failures: 0, elapsedMs: 0, leftMs: 1_000 });
  deadline.failed();
  await clock.advance(800);
  deadline.failed();
  await clock.advance(201);
  expect(deadline.now).toEqual({ failures: 2, elapsedMs: 1_001, leftMs: -1 });
});

test('a wait for a permit is not counted, and of an outage only what a probe took', async () => {
  const clock = virtualClock();
  const deadline = new Deadline(() => clock.monotonicMs(), 1_000);
  deadline.waited(100);
  deadline.probed(0);
  await clock.advance(100);
  expect(deadline.now.elapsedMs).toBe(0);
  deadline.probed(300);
  await clock.advance(900_000);
  deadline.waited(900_000);
  expect(deadline.now).toEqual({ failures: 1, elapsedMs: 300, leftMs: 700 });
  deadline.probed(300);
  expect(deadline.now).toEqual({ failures: 2, elapsedMs: 600, leftMs: 400 });
});
