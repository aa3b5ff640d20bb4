import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Backoff } from './backoff.ts';

it('doubles from the first pause to the longest, each between a half and the whole, and starts over after a success', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 8, maxLength: 20 }), (chances) => {
      const left = [...chances, ...chances];
      const backoff = new Backoff({ firstMs: 50, mostMs: 1_000, random: () => left.shift() ?? 0 });
      const limits = chances.map((_, at) => Math.min(50 * 2 ** at, 1_000));
      for (let round = 0; round < 2; round += 1) {
        const pauses = chances.map(() => backoff.nextMs());
        expect(pauses).toEqual(chances.map((chance, at) => ((limits[at] ?? 0) / 2) * (1 + chance)));
        expect(pauses.every((pause, at) => pause >= (limits[at] ?? 0) / 2 && pause <= (limits[at] ?? 0))).toBe(true);
        backoff.reset();
      }
    }),
  );
});
