import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admission } from './admission.ts';
import type { Permit } from './permit.ts';
import { credentialPool } from './credential-pool.ts';
import { creditPool } from './credit-pool.ts';
import { type RateBudget, rateBudget } from '../budget/rate-budget.ts';
import { virtualClock } from '../testing/index.ts';

const WINDOW_MS = 1_000;
const NAMES = ['a', 'b'] as const;

describe('a permit that waits for its connection', () => {
  const request = fc.record({
    idleMs: fc.integer({ min: 0, max: 200 }),
    /** Time from the permit to the first byte. */
    connectMs: fc.integer({ min: 0, max: 2_000 }),
    /** 0 for a request that doesn't use the budget. */
    weights: fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 1 })),
  });
  const hold = fc.record({
    atMs: fc.integer({ min: 0, max: 6_000 }),
    forMs: fc.integer({ min: 1, max: 3_000 }),
    budget: fc.constantFrom('own of a', 'own of b', 'shared'),
  });

  it('sends nothing while one of its budgets is on hold, costs nothing if it is void, and each request is sent in the end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1, maxLength: 25 }),
        fc.array(hold, { maxLength: 8 }),
        fc.option(fc.integer({ min: 0, max: 6_000 }), { nil: undefined }),
        async (requests, holds, retiredAtMs) => {
          const clock = virtualClock();
          const shared = rateBudget({ limit: 12, windowMs: WINDOW_MS, guardMs: 0, clock });
          const own = new Map(NAMES.map((name) => [name as string, rateBudget({ limit: 8, windowMs: WINDOW_MS, guardMs: 0, clock })]));
          const ownOf = (name: string): RateBudget => own.get(name) ?? shared;
          const pool = credentialPool({ members: NAMES.map((name) => ({ name, budgets: [ownOf(name), shared] })), clock });
          const door = admission({ pool, clock });
          const credits = creditPool({ max: 10 });
          const heldUntil = new Map<RateBudget, number>();
          let isRetired = false;
          let sent = 0;
          const wait = (ms: number): Promise<void> => new Promise((resolve) => void clock.schedule(ms, resolve));
          const budgetsOf = (permit: Permit, weights: readonly number[]): RateBudget[] =>
            [ownOf(permit.credential), shared].filter((_, i) => weights[i] !== 0);
          const send = async (startMs: number, { connectMs, weights }: (typeof requests)[number]): Promise<void> => {
            await wait(startMs);
            for (let isSent = false; !isSent;) {
              using permit = await door.acquire({ credits, items: 1, weights });
              await wait(connectMs);
              const used = budgetsOf(permit, weights);
              const isOnHold = used.some((budget) => (heldUntil.get(budget) ?? 0) > clock.monotonicMs());
              const isGone = isRetired && permit.credential === 'a';
              isSent = permit.sent();
              expect(isSent, 'sent exactly if nothing stops it').toBe(!isOnHold && !isGone);
              if (!isSent) continue;
              sent += 1;
              await wait(50);
              permit.answered();
            }
          };
          let startMs = 0;
          const ends = requests.map((one) => send((startMs += one.idleMs), one));
          for (const { atMs, forMs, budget } of holds) {
            void wait(atMs).then(() => {
              const held = budget === 'shared' ? shared : ownOf(budget.slice(-1));
              const until = clock.monotonicMs() + forMs;
              held.holdUntil(until);
              heldUntil.set(held, Math.max(until, heldUntil.get(held) ?? 0));
            });
          }
          if (retiredAtMs !== undefined) {
            void wait(retiredAtMs).then(() => {
              isRetired = true;
              pool.retire('a', new Error('refused'));
              door.wake();
            });
          }
          await clock.advance(60_000 + requests.length * 10 * WINDOW_MS);
          await Promise.all(ends);
          expect(sent).toBe(requests.length);
          expect([credits.outstanding, door.waiting().length, shared.used, ownOf('a').used, ownOf('b').used]).toEqual([0, 0, 0, 0, 0]);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('gives its slot back at once if it is void', () => {
    const clock = virtualClock();
    const budget = rateBudget({ limit: 1, windowMs: WINDOW_MS, clock });
    const slot = budget.take();
    budget.holdUntil(100);
    expect(slot.sent()).toBe(false);
    slot.aborted();
    expect([budget.used, budget.freeAt()]).toEqual([0, 100]);
  });

  it('is void if a response shows that other clients have used its capacity', () => {
    const clock = virtualClock();
    const budget = rateBudget({ limit: 25, windowMs: WINDOW_MS, guardMs: 0, clock });
    const [first, ...others] = Array.from({ length: 25 }, () => budget.take());
    first?.sent();
    first?.answered({ remaining: 10, resetInMs: WINDOW_MS });
    // The service has counted one of ours. So 14 are of other clients, and 10 are left.
    const sent = others.filter((slot) => slot.sent());
    expect(sent).toHaveLength(10);
    for (const slot of others) if (!sent.includes(slot)) slot.aborted();
    expect(budget.used).toBe(25);
  });

  it('is void if a response shows a cost that leaves no capacity', () => {
    const clock = virtualClock();
    const budget = rateBudget({ limit: 10, windowMs: WINDOW_MS, guardMs: 0, clock });
    const [first, second] = [budget.take(), budget.take()];
    first.sent();
    first.answered();
    first.corrected(10);
    expect(second.sent()).toBe(false);
  });
});
