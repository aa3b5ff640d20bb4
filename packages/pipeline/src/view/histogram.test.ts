import { expect, it } from 'vitest';
import { noObservations, observe } from './histogram.ts';

it('counts each duration in the first bucket that holds it, and what is above all bounds in the last', () => {
  const histogram = noObservations();
  for (const ms of [0, 1, 1.1, 2.5, 30_000, 30_001, 1e9]) observe(histogram, ms);
  expect(histogram.counts).toEqual([2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
  expect(histogram.counts).toHaveLength(histogram.boundsMs.length + 1);
  expect(histogram.sumMs).toBe(1_000_060_005.6);
});
