import fc from 'fast-check';
import { expect, it } from 'vitest';
import { plainAdmission } from './admission-model.fixture.ts';
import { type Admission, admission, type Permit } from './admission.ts';
import { type Clock } from '../clock.ts';
import { type CredentialPool, credentialPool } from './credential-pool.ts';
import { creditPool } from './credit-pool.ts';
import { rateBudget } from '../budget/rate-budget.ts';
import { virtualClock } from '../testing/index.ts';

const actions = ['acquire', 'answer', 'give up', 'unsent', 'cancel', 'release', 'shrink', 'wait', 'hold', 'retire'] as const;

const step = fc.record({
  do: fc.constantFrom(...actions, ...Array.from({ length: 12 }, () => 'acquire' as const), 'answer', 'release', 'wait'),
  which: fc.nat(40),
  downstream: fc.nat(2),
  items: fc.constantFrom(0, 1, 2, 5, 5, 9, 12),
  among: fc.constantFrom(undefined, undefined, [0], [1], [0, 1], [1, 0], [2], []),
  weights: fc.constantFrom([], [], [], [1], [2], [3], [1, 2], [2, 1], [4], [0, 1], [1, 0], [0, 2]),
  walk: fc.nat(6),
  share: fc.constantFrom(undefined, undefined, 0.5, 2, 3),
  rank: fc.constantFrom(undefined, undefined, undefined, 1, 2),
  countedWithinMs: fc.constantFrom(undefined, 50, 400),
  shareSignal: fc.boolean(),
});

interface Play {
  readonly steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[];
  readonly limits: readonly [number, number, number];
  readonly room: readonly [number, number, number];
  readonly pool: number;
}

/**
 * Plays the steps. Returns what callers can observe: grants and refusals with their times, and after each step the waiting requests and the
 * number of timers.
 */
async function seen(
  { steps, limits, room, pool: which }: Play,
  make: (options: { readonly pool: CredentialPool; readonly clock: Clock }) => Pick<Admission, 'acquire' | 'waiting' | 'wake'>,
) {
  const clock = virtualClock();
  const log: unknown[] = [];
  const budget = (limit: number) => rateBudget({ limit, windowMs: 1_000, guardMs: 0, maxDelayMs: 100, clock });
  const shared = budget(limits[0]);
  const members = [
    [{ name: 'a', budgets: [shared] }],
    [
      { name: 'b', budgets: [budget(limits[1]), budget(3)] },
      { name: 'c', budgets: [budget(limits[2]), budget(2)] },
    ],
    [
      { name: 'd', budgets: [shared] },
      { name: 'e', budgets: [budget(limits[2])] },
    ],
    [
      { name: 'f', budgets: [budget(limits[1]), shared] },
      { name: 'g', budgets: [budget(limits[2]), shared] },
    ],
  ][which];
  const names = (members ?? []).map(({ name }) => name);
  const pool = credentialPool({ members: members ?? [], clock });
  const downstreams = room.map((max) => creditPool({ max }));
  const walks = Array.from({ length: 5 }, () => ({}));
  const signals: AbortController[] = [];
  const permits: { readonly permit: Permit; isOpen: boolean }[] = [];
  const door = make({ pool, clock });
  for (const [
    i,
    { do: what, which, downstream, items, weights, among, walk, share, rank, countedWithinMs, shareSignal },
  ] of steps.entries()) {
    const credits = downstreams[downstream];
    const held = permits[which % Math.max(1, permits.length)];
    if (what === 'acquire' && credits !== undefined) {
      const cancel = (shareSignal ? signals.at(-1) : undefined) ?? new AbortController();
      signals.push(cancel);
      const whose = walks[walk];
      const options = {
        among: among?.map((member) => names[member] ?? 'nobody'),
        ...(whose !== undefined && { walk: whose }),
        ...(share !== undefined && { share }),
        ...(rank !== undefined && { rank }),
        ...(countedWithinMs !== undefined && { countedWithinMs }),
      };
      door.acquire({ credits, items, weights, label: `${i}`, signal: cancel.signal, ...options }).then(
        (permit) => {
          log.push([clock.monotonicMs(), i, permit.credential]);
          permits.push({ permit, isOpen: true });
        },
        (error: unknown) => log.push([clock.monotonicMs(), i, error instanceof RangeError ? 'too heavy' : String(error)]),
      );
    }
    if (held?.isOpen === true && (what === 'answer' || what === 'give up' || what === 'unsent')) {
      held.isOpen = false;
      if (what !== 'unsent') held.permit.sent();
      if (what === 'answer') held.permit.answered();
      else held.permit.aborted();
    }
    if (what === 'release') held?.permit.credit.release();
    if (what === 'shrink') held?.permit.credit.resize(Math.min(items, held.permit.credit.items));
    if (what === 'cancel') signals[which % Math.max(1, signals.length)]?.abort(new Error('enough'));
    if (what === 'hold') pool.members[0]?.budgets[0]?.holdUntil(clock.monotonicMs() + which * 10);
    if (what === 'retire' && which < 4) {
      pool.retire(pool.members[0]?.name ?? '', new Error('revoked'));
      door.wake();
    }
    if (what === 'wait') await clock.advance(which * 30);
    else if (which % 3 > 0) await clock.settle();
    log.push([door.waiting(), clock.pending]);
  }
  await clock.advance(60_000);
  return [...log, door.waiting(), permits.length];
}

it('grants what looking through all who wait would grant, to the same and in the same order, for any that come, go, end and are refused', async () => {
  let granted = 0;
  const play = fc.record({
    steps: fc.array(step, { minLength: 20, maxLength: 150, size: 'max' }),
    limits: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 5 })),
    pool: fc.nat(3),
    room: fc.tuple(fc.constantFrom(5, 10, 20), fc.constantFrom(5, 10, 20), fc.constantFrom(1, Infinity)),
  });
  await fc.assert(
    fc.asyncProperty(play, async (all) => {
      const [indexed, plain] = [await seen(all, admission), await seen(all, plainAdmission)];
      expect(indexed).toEqual(plain);
      granted += Number(plain.at(-1));
    }),
    { numRuns: 200 },
  );
  // Ensures that the plays included grants, not only waiting.
  expect(granted).toBeGreaterThan(1_000);
});
