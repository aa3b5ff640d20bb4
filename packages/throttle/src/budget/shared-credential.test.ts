import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WindowKind } from './budget-simulation.fixture.ts';
import { share, type SharedCredential, type SharedUse } from './shared-credential.fixture.ts';

const KINDS: readonly WindowKind[] = ['first-request', 'wall-clock', 'rolling'];
const CASES = KINDS.flatMap((kind) => [1, 5].map((walks) => ({ kind, walks })));
const WINDOW_MS = 900_000;

/** Creates a generator of fractions that is the same in each run. */
function parts(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

type Scene = Pick<SharedCredential, 'kind' | 'walks' | 'others'> & Partial<SharedCredential>;

function day(scene: Scene): SharedUse {
  return share({ limit: 15, windowMs: WINDOW_MS, windows: 20, phase: 0.5, trips: parts(1), slowestMs: 600, startAt: 0.05, ...scene });
}

const spread = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => 0.1 + (0.85 * i) / count);
const times = (count: number, window: readonly number[]): readonly (readonly number[])[] => Array.from({ length: count }, () => window);

describe.each(CASES)('a credential of a service with $kind windows, asked for by $walks walks', ({ kind, walks }) => {
  it('is never refused and loses nothing if no other client shares it', () => {
    const { counted, refused } = day({ kind, walks, others: [[]] });
    expect(refused).toEqual([]);
    expect(counted).toHaveLength(20 * 15);
  });

  it('is never refused if others use it all the time, and uses what they leave', () => {
    for (const use of [spread(5), [0, 0.001, 0.002, 0.003, 0.004], spread(9)]) {
      const { counted, refused, othersCounted } = day({ kind, walks, others: [use], startAt: 1.05 });
      expect(refused).toEqual([]);
      expect(counted.length + othersCounted).toBeGreaterThanOrEqual(0.95 * 19 * 15);
    }
  });

  it.each([
    { what: 'come', others: [...times(5, []), spread(6)], changes: 1 },
    { what: 'go', others: [...times(5, spread(6)), []], changes: 2 },
    { what: 'change', others: [...times(5, spread(3)), ...times(5, spread(9)), ...times(4, []), spread(10)], changes: 4 },
  ])('is refused once at most when others $what', ({ others, changes }) => {
    for (const phase of [0.1, 0.3, 0.5, 0.7, 0.9]) expect(day({ kind, walks, others, phase }).refused.length).toBeLessThanOrEqual(changes);
  });

  it('has all of it again two windows after others have gone', () => {
    const { counted } = day({ kind, walks, others: [...times(5, spread(9)), []] });
    expect(counted.filter((at) => at >= 8 * WINDOW_MS).length).toBeGreaterThanOrEqual(12 * 15 - 1);
  });
});

describe('any credential that is shared', () => {
  const use = (most: number) =>
    fc.array(fc.double({ min: 0.1, max: 0.95, noNaN: true }), { maxLength: most }).map((moments) => moments.toSorted((a, b) => a - b));
  const scene = fc.record({ limit: fc.integer({ min: 6, max: 30 }), walks: fc.constantFrom(1, 5) }).chain(({ limit, walks }) =>
    fc.record({
      limit: fc.constant(limit),
      walks: fc.constant(walks),
      kind: fc.constantFrom(...KINDS),
      // These ranges keep the start of our requests apart from the requests of other clients.
      phase: fc.double({ min: 0.1, max: 1, noNaN: true }),
      startAt: fc.double({ min: 0, max: 0.05, noNaN: true }),
      segments: fc.array(fc.record({ use: use(limit - walks), windows: fc.integer({ min: 2, max: 5 }) }), { minLength: 1, maxLength: 3 }),
      seed: fc.nat(),
    }),
  );

  it('is refused no more often than the use of others changes', () => {
    fc.assert(
      fc.property(scene, ({ segments, seed, ...rest }) => {
        const others = segments.flatMap(({ use: moments, windows }) => times(windows, moments));
        const { refused } = day({ ...rest, others, windows: 14, trips: parts(seed), slowestMs: 400 });
        expect(refused.length).toBeLessThanOrEqual(segments.length);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is never refused if others use nothing', () => {
    fc.assert(
      fc.property(scene, fc.integer({ min: 1, max: 20_000 }), ({ limit, walks, kind, phase, seed }, slowestMs) => {
        expect(day({ limit, walks, kind, phase, others: [[]], windows: 6, trips: parts(seed), slowestMs }).refused).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
