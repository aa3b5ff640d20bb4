import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admission } from './admission.ts';
import { credentialPool } from './credential-pool.ts';
import { creditPool } from './credit-pool.ts';
import { dailyBudget } from '../budget/calendar-budget.ts';
import { rateBudget } from '../budget/rate-budget.ts';
import { virtualClock } from '../testing/index.ts';

const HOUR_MS = 3_600_000;
const LONGEST_MS = 4_000;
const ALONE = 5;

interface Asked {
  readonly atMs: number;
  /** The request's cost in the daily quota. */
  readonly weight: number;
  readonly answerMs: number;
  readonly ending: 'answered' | 'given up' | 'unsent';
  readonly walk: number;
}

interface Play {
  readonly perSecond: number;
  readonly perDay: number;
  /** Time from the start to the first reset. */
  readonly toResetMs: number;
  readonly asked: readonly Asked[];
}

/** Returns when each request starts, in ms. `mayPass`: whether lighter requests may pass heavier ones. */
async function starts({ perSecond, perDay, toResetMs, asked }: Play, mayPass: boolean): Promise<readonly number[]> {
  const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 2) - toResetMs });
  const budgets = [
    rateBudget({ limit: perSecond, windowMs: 1_000, maxDelayMs: 1_000, clock }),
    dailyBudget({ limit: perDay, maxDelayMs: 1_000, clock }),
  ];
  const pool = credentialPool({ members: [{ name: 'key', budgets }], clock });
  const door = admission({ pool, clock });
  const credits = creditPool({ max: Infinity });
  const walks = Array.from({ length: 3 }, () => ({}));
  const started = asked.map(() => Infinity);
  for (const [i, { atMs, weight, answerMs, ending, walk }] of asked.entries()) {
    clock.schedule(atMs, () => {
      const whose = walks[walk];
      const given = { ...(mayPass && { countedWithinMs: LONGEST_MS }), ...(whose !== undefined && { walk: whose }) };
      void door.acquire({ weights: [1, weight], credits, items: 1, ...given }).then((permit) => {
        started[i] = clock.monotonicMs();
        if (ending !== 'unsent') permit.sent();
        clock.schedule(answerMs, () => (ending === 'answered' ? permit.answered() : permit.aborted()));
      });
    });
  }
  await clock.advance(asked.length * 25 * HOUR_MS);
  return started;
}

describe('admission', () => {
  const plays = fc.integer({ min: 2, max: 12 }).chain((perDay) =>
    fc.record({
      perSecond: fc.integer({ min: 1, max: 3 }),
      perDay: fc.constant(perDay),
      toResetMs: fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 1, max: 24 * HOUR_MS })),
      asked: fc.array(
        fc.record({
          atMs: fc.oneof(fc.integer({ min: 0, max: 12_000 }), fc.integer({ min: 0, max: 30 * HOUR_MS })),
          weight: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: perDay })),
          answerMs: fc.integer({ min: 0, max: 3_000 }),
          ending: fc.constantFrom(...(['answered', 'answered', 'answered', 'given up', 'unsent'] as const)),
          walk: fc.nat(ALONE),
        }),
        { minLength: 2, maxLength: 12, size: 'max' },
      ),
    }),
  );

  const alone = (play: Play): Play => ({ ...play, asked: play.asked.map((one) => ({ ...one, walk: ALONE })) });
  const atOnce = (play: Play): Play => ({ ...play, asked: play.asked.map((one) => ({ ...one, atMs: 0 })) });

  // In the second case, all requests come at the start. Otherwise the turn of a later request could come before that of a waiting one,
  // which would then find the quota used up.
  it.each([
    { who: 'requests that come whenever they like', made: alone },
    { who: 'walks that wait', made: atOnce },
  ])('lets lighter requests pass where nobody starts later for it, up to the turn of the day: $who', async ({ made }) => {
    let earlier = 0;
    await fc.assert(
      fc.asyncProperty(plays.map(made), async (play) => {
        const [passing, waiting] = [await starts(play, true), await starts(play, false)];
        for (const [i, at] of passing.entries()) expect(at).toBeLessThanOrEqual(waiting[i] ?? Infinity);
        if (passing.some((at, i) => at < (waiting[i] ?? 0))) earlier += 1;
      }),
      { numRuns: 300 },
    );
    // Ensures that the plays included passing, not only waiting.
    expect(earlier).toBeGreaterThan(10);
  });

  it('ends no round for those that passed: who comes after them has the turn it would have had', async () => {
    const clock = virtualClock();
    const pool = credentialPool({ members: [{ name: 'key', budgets: [dailyBudget({ limit: 10, clock })] }], clock });
    const [door, credits, walk] = [admission({ pool, clock }), creditPool({ max: Infinity }), {}];
    const order: string[] = [];
    const ask = (label: string, weight: number, whose?: object): void =>
      void door
        .acquire({
          credits,
          items: 1,
          weights: [weight],
          countedWithinMs: 60_000,
          label,
          ...(whose !== undefined && { walk: whose }),
        })
        .then((permit) => {
          order.push(label);
          permit.sent();
          permit.answered();
        });
    ask('first', 4, walk);
    ask('heavy', 8, walk);
    ask('heavy again', 7, walk);
    for (let i = 0; i < 5; i += 1) ask('light', 1, walk);
    await clock.settle();
    ask('newcomer', 9);
    await clock.advance(4 * 24 * HOUR_MS);
    expect(order.filter((label) => label !== 'light')).toEqual(['first', 'newcomer', 'heavy', 'heavy again']);
    expect(order.slice(0, 6)).toEqual(['first', ...Array.from({ length: 5 }, () => 'light')]);
  });

  it('says until when those wait who could go, but for those before them', async () => {
    const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 1, 20) });
    const pool = credentialPool({ members: [{ name: 'key', budgets: [dailyBudget({ limit: 150, clock })] }], clock });
    const [door, credits] = [admission({ pool, clock }), creditPool({ max: Infinity })];
    const ask = (weight: number, countedWithinMs?: number) =>
      door.acquire({
        credits,
        items: 1,
        label: `${weight}`,
        weights: [weight],
        ...(countedWithinMs !== undefined && { countedWithinMs }),
      });
    const first = await ask(100);
    first.sent();
    first.answered();
    void ask(100);
    void ask(1);
    void ask(49, 60_000);
    await clock.settle();
    const until = Date.UTC(2026, 0, 2) + 5_000;
    expect(door.waiting()).toEqual([100, 1, 49].map((weight) => ({ label: `${weight}`, for: 'budget', until })));
    const door2 = admission({ pool, clock });
    void door2.acquire({ credits, items: 1, weights: [100] });
    await door2.acquire({ credits, items: 1, weights: [50], countedWithinMs: 60_000 });
    expect(pool.members[0]?.budgets[0]?.used).toBe(150);
  });
});

describe('requests of unlike budgets', () => {
  it('do not wait for one another, however long those before them do', async () => {
    const clock = virtualClock();
    const budgets = ['core', 'search'].map(() => rateBudget({ limit: 1, windowMs: 1_000, guardMs: 0, clock }));
    const pool = credentialPool({ members: [{ name: 'a', budgets }], clock });
    const door = admission({ pool, clock });
    const granted: string[] = [];
    const acquire = async (label: string, weights: readonly number[]): Promise<void> => {
      (await door.acquire({ weights, credits: creditPool({ max: Infinity }), items: 1, label })).answered();
      granted.push(label);
    };
    const all = Promise.all([
      acquire('search 1', [0, 1]),
      acquire('search 2', [0, 1]),
      acquire('core 1', [1, 0]),
      acquire('core 2', [1, 0]),
    ]);
    await clock.settle();
    expect(granted).toEqual(['search 1', 'core 1']);
    await clock.advance(1_000);
    await all;
    expect(granted).toEqual(['search 1', 'core 1', 'search 2', 'core 2']);
  });
});
