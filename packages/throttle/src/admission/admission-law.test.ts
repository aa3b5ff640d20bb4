import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type AcquireOptions, admission } from './admission.ts';
import type { Permit } from './permit.ts';
import { credentialPool, type PoolMember } from './credential-pool.ts';
import { creditPool } from './credit-pool.ts';
import { type RateBudget, rateBudget } from '../budget/rate-budget.ts';
import { type VirtualClock, virtualClock } from '../testing/index.ts';

const actions = ['acquire', 'answer', 'give up', 'unsent', 'cancel', 'release', 'shrink', 'wait', 'hold', 'retire'] as const;

const step = fc.record({
  do: fc.constantFrom(...actions, ...Array.from({ length: 12 }, () => 'acquire' as const), 'answer', 'release', 'wait'),
  which: fc.nat(40),
  downstream: fc.nat(2),
  items: fc.constantFrom(0, 1, 2, 5, 5, 9, 12),
  among: fc.constantFrom(undefined, undefined, [0], [1], [0, 1], [1, 0], [2]),
  weights: fc.constantFrom([], [], [], [1], [2], [3], [1, 2], [2, 1], [4], [0, 1], [1, 0], [0, 2], [2, 0]),
});

interface Play {
  readonly steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[];
  readonly limits: readonly [number, number, number];
  readonly room: readonly [number, number, number];
  readonly pool: number;
}

/** A request that waits, as the test has sent it. Requests belong to no walk, so they come in the order of their numbers. */
interface Asked extends Pick<AcquireOptions, 'among' | 'credits' | 'items'> {
  readonly weights: readonly number[];
}

/** The budgets of a member that a request uses, each with its cost; undefined if the member can't carry the request. */
function costs({ weights, among }: Asked, { name, budgets }: PoolMember): readonly (readonly [RateBudget, number])[] | undefined {
  if (among?.includes(name) === false) return undefined;
  const used = budgets.map((budget, i) => [budget, weights[i] ?? 1] as const).filter(([, cost]) => cost > 0);
  return used.every(([{ limit }, cost]) => cost <= limit) ? used : undefined;
}

/** The waiting requests that don't wait for their downstream. A request without room there holds up all later ones. */
function withRoom(waiting: readonly Asked[]): readonly Asked[] {
  return waiting.filter(({ credits }, i) => waiting.slice(0, i + 1).every((one) => one.credits !== credits || credits.hasRoom(one.items)));
}

/** What an earlier request keeps from later ones: all of a budget that it waits for, and its cost in another if that is above 1. */
function kept(earlier: readonly Asked[], members: readonly PoolMember[], budget: RateBudget, now: number): number {
  const needs = earlier.flatMap((one) => members.flatMap((member) => costs(one, member)?.filter(([used]) => used === budget) ?? []));
  return Math.max(0, ...needs.map(([, cost]) => (budget.freeAt(cost) > now ? Infinity : cost > 1 ? cost : 0)));
}

/** Returns the waiting requests that could start now, each by some member, and leave the earlier ones what they need. */
function idle(waiting: readonly Asked[], members: readonly PoolMember[], now: number): readonly Asked[] {
  return withRoom(waiting).filter((one) =>
    members.some((member) =>
      costs(one, member)?.every(([budget, cost]) => {
        const all = cost + kept(waiting.slice(0, waiting.indexOf(one)), members, budget, now);
        return all <= budget.limit && budget.freeAt(all) <= now;
      }),
    ),
  );
}

function membersOf(pool: number, limits: Play['limits'], clock: VirtualClock): readonly PoolMember[] {
  const budget = (limit: number): RateBudget => rateBudget({ limit, windowMs: 1_000, guardMs: 0, maxDelayMs: 100, clock });
  const shared = budget(limits[0]);
  const own = [() => budget(limits[1]), () => budget(limits[2])];
  const budgets = [[[shared]], own.map((one) => [one(), budget(3)]), [[shared], [budget(limits[2])]], own.map((one) => [one(), shared])][
    pool
  ];
  return (budgets ?? []).map((all, i) => ({ name: 'abc'.charAt(i), budgets: all }));
}

/** Plays the steps, and checks the law after each of them. Returns the number of grants, and of those that passed an earlier request. */
async function played({ steps, limits, room, pool: which }: Play): Promise<{ readonly granted: number; readonly passed: number }> {
  const clock = virtualClock();
  const pool = credentialPool({ members: membersOf(which, limits, clock), clock });
  const downstreams = room.map((max) => creditPool({ max }));
  const signals: AbortController[] = [];
  const permits: { readonly permit: Permit; isOpen: boolean }[] = [];
  const door = admission<Asked>({ pool, clock });
  let passed = 0;
  const waiting = (): readonly Asked[] => door.waiting().flatMap(({ label }) => label ?? []);
  const acquire = async (asked: Asked, signal: AbortSignal): Promise<void> => {
    const onGranted = (name: string): void => {
      const all = waiting();
      // The newest request may have started before the test has seen it wait.
      const earlier = all.slice(0, all.findIndex((one) => orderOf(one) > orderOf(asked)) >>> 0);
      const mine = new Map(pool.members.flatMap((member) => (member.name === name ? (costs(asked, member) ?? []) : [])));
      if (earlier.length > 0) passed += 1;
      for (const one of withRoom(earlier)) {
        expect([one.weights, one.among], 'the same request came earlier').not.toEqual([asked.weights, asked.among]);
        const heavy = pool.members.flatMap((member) => costs(one, member)?.filter(([, cost]) => cost > 1) ?? []);
        const left = heavy.filter(([budget, cost]) => !mine.has(budget) || budget.freeAt(cost) <= clock.monotonicMs());
        expect(left).toEqual(heavy);
      }
    };
    await door.acquire({ ...asked, label: asked, signal, onGranted }).then(
      (permit) => permits.push({ permit, isOpen: true }),
      () => undefined,
    );
  };
  const order = new Map<Asked, number>();
  const orderOf = (asked: Asked): number => order.get(asked) ?? -1;
  for (const [i, { do: what, which, downstream, items, weights, among }] of steps.entries()) {
    const credits = downstreams[downstream];
    const held = permits[which % Math.max(1, permits.length)];
    if (what === 'acquire' && credits !== undefined) {
      const cancel = new AbortController();
      signals.push(cancel);
      const asked: Asked = { credits, items, weights, among: among?.map((member) => 'abc'.charAt(member)) };
      order.set(asked, i);
      void acquire(asked, cancel.signal);
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
    await clock.advance(what === 'wait' ? which * 30 : 0);
    const left = waiting();
    expect(left.map(orderOf)).toEqual(left.map(orderOf).toSorted((a, b) => a - b));
    expect(left.every((one) => pool.bears(one.weights, one.among))).toBe(true);
    expect(idle(left, pool.members, clock.monotonicMs()), `after step ${i}`).toEqual([]);
  }
  for (const { permit, isOpen } of permits) {
    if (isOpen) permit.aborted();
    permit.credit.release();
  }
  return { granted: permits.length, passed };
}

it('lets a request start as soon as it takes nothing that an earlier one waits for, and never before', async () => {
  const seen = { granted: 0, passed: 0 };
  const play = fc.record({
    steps: fc.array(step, { minLength: 20, maxLength: 150, size: 'max' }),
    limits: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 5 })),
    pool: fc.nat(3),
    room: fc.tuple(fc.constantFrom(5, 10, 20), fc.constantFrom(5, 10, 20), fc.constantFrom(1, Infinity)),
  });
  await fc.assert(
    fc.asyncProperty(play, async (all) => {
      const { granted, passed } = await played(all);
      seen.granted += granted;
      seen.passed += passed;
    }),
    { numRuns: 100 },
  );
  // Ensures that the plays included grants and passing, not only waiting.
  expect(seen.granted).toBeGreaterThan(500);
  expect(seen.passed).toBeGreaterThan(100);
});
