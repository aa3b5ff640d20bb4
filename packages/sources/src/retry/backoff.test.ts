import { virtualClock } from '@headgate/throttle/testing';
import { expect, test } from 'vitest';
import { backoff } from './backoff.ts';

test.each([0, 0.5, 0.999_999])('delays double from 500 ms to 30 s, and waits are at least half of that (random number %d)', (random) => {
  const deadline = backoff({ nowMs: () => 0, random: () => random, retryForMs: 600_000 });
  for (const delay of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]) {
    expect(deadline.failed()).toBeCloseTo((delay * (1 + random)) / 2);
  }
  expect(deadline.failures).toBe(9);
});

test('ends its time after the first failure, with one last try at the end', async () => {
  const clock = virtualClock();
  const deadline = backoff({ nowMs: () => clock.monotonicMs(), random: () => 0.999, retryForMs: 1_000 });
  await clock.advance(5_000);
  expect(deadline.failed()).toBeCloseTo(499.75);
  await clock.advance(800);
  expect(deadline.failed()).toBe(200);
  await clock.advance(200);
  expect(deadline.failed()).toBeUndefined();
  expect(deadline.elapsedMs).toBe(1_000);
});

test('waiting for budget or room is not counted', async () => {
  const clock = virtualClock();
  const deadline = backoff({ nowMs: () => clock.monotonicMs(), random: () => 0, retryForMs: 1_000 });
  deadline.failed();
  await clock.advance(900_000);
  deadline.waited(900_000);
  expect(deadline.elapsedMs).toBe(0);
  expect(deadline.failed()).toBe(500);
});

test('waits as long as the service requests, and not at all for what lies beyond the end', () => {
  const deadline = backoff({ nowMs: () => 0, random: () => 0, retryForMs: 10_000 });
  expect(deadline.failed(3_000)).toBe(3_000);
  expect(deadline.failed(10_000)).toBe(10_000);
  expect(deadline.failed(10_001)).toBeUndefined();
  expect(deadline.failures).toBe(3);
});
