import { describe, expect, it } from 'vitest';
import { admission } from './admission.ts';
import { credentialPool } from './credential-pool.ts';
import { creditPool } from './credit-pool.ts';
import { dailyBudget } from '../budget/calendar-budget.ts';
import { rateBudget } from '../budget/rate-budget.ts';
import { virtualClock } from '../testing/index.ts';

const HOUR_MS = 3_600_000;

describe('a request that waits for a daily quota', () => {
  const scene = () => {
    const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 1, 20) });
    const budgets = [rateBudget({ limit: 1, windowMs: 1_000, guardMs: 0, clock }), dailyBudget({ limit: 150, clock })];
    const door = admission({ pool: credentialPool({ members: [{ name: 'key', budgets }], clock }), clock });
    const credits = creditPool({ max: Infinity });
    const order: string[] = [];
    const ask = (label: string, weight: number): void =>
      void door.acquire({ credits, items: 1, label, weights: [1, weight] }).then((permit) => {
        order.push(`${label} ${clock.monotonicMs()}`);
        permit.sent();
        permit.answered();
      });
    return { clock, door, order, ask };
  };

  it('is passed by one that costs nothing of it, and keeps its place before lighter ones', async () => {
    const { clock, order, ask } = scene();
    ask('first', 100);
    ask('heavy', 100);
    ask('light', 1);
    ask('free', 0);
    await clock.advance(4 * HOUR_MS + 7_000);
    expect(order).toEqual(['first 0', 'free 1000', `heavy ${4 * HOUR_MS + 5_000}`, `light ${4 * HOUR_MS + 6_000}`]);
  });

  it('says until when it waits; and so does a lighter one that waits behind it', async () => {
    const { clock, door, ask } = scene();
    for (const [label, weight] of [
      ['first', 100],
      ['heavy', 100],
      ['light', 1],
    ] as const)
      ask(label, weight);
    await clock.advance(2_000);
    const until = Date.UTC(2026, 0, 2) + 5_000;
    expect(door.waiting()).toEqual(['heavy', 'light'].map((label) => ({ label, for: 'budget', until })));
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
