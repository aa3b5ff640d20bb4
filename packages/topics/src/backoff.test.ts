import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Backoff } from './backoff.ts';

it('doubles its limit from the first pause to the longest, takes any time up to it, and starts over after a success', () => {
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(fc.array(chance, { minLength: 8, maxLength: 20 }), fc.constantFrom(0, 20), (chances, leastMs) => {
      const left = [...chances, ...chances];
      const backoff = new Backoff({ firstMs: 50, mostMs: 1_000, leastMs, random: () => left.shift() ?? 0 });
      const limits = chances.map((_, at) => Math.min(50 * 2 ** at, 1_000));
      for (let round = 0; round < 2; round += 1) {
        expect(chances.map(() => backoff.nextMs())).toEqual(chances.map((each, at) => leastMs + ((limits[at] ?? 0) - leastMs) * each));
        backoff.reset();
      }
    }),
  );
});

it('has no least pause, unless one is given', () => {
  expect(new Backoff({ firstMs: 50, mostMs: 1_000, random: () => 0 }).nextMs()).toBe(0);
  expect(new Backoff({ firstMs: 50, mostMs: 1_000, leastMs: 20, random: () => 0 }).nextMs()).toBe(20);
});

it("rejects a pause with the signal's reason, before it and amid it", async () => {
  const reason = new Error('enough');
  const long = { firstMs: 1_000_000, mostMs: 1_000_000, leastMs: 1_000_000 };
  await expect(new Backoff(long).pause(AbortSignal.abort(reason))).rejects.toBe(reason);
  const over = new AbortController();
  const pausing = new Backoff(long).pause(over.signal);
  over.abort(reason);
  await expect(pausing).rejects.toBe(reason);
});
