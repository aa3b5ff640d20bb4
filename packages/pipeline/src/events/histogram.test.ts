import { expect, it } from 'vitest';
import { noObservations, observe } from './histogram.ts';

it('counts a duration in the first bucket that contains it, or in the last if it exceeds all bounds', () => {
  const histogram = noObservations();
  for (const ms of [0, 1, 1.1, 2.5, 30_000, 30_001, 1e9]) observe(histogram, ms);
  expect(histogram.counts).toEqual([2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
  expect(histogram.counts).toHaveLength(histogram.boundsMs.length + 1);
  expect(histogram.sumMs).toBe(1_000_060_005.6);
});
