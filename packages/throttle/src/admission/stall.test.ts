import fc from 'fast-check';
import { NEVER, Observable, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { type Admission, admission } from './admission.ts';
import type { Permit } from './permit.ts';
import { credentialPool } from './credential-pool.ts';
import { creditPool } from './credit-pool.ts';
import { PageStream } from '../pages/page-stream.ts';
import { rateBudget } from '../budget/rate-budget.ts';
import type { Clock } from '../clock.ts';
import { type VirtualClock, virtualClock } from '../testing/index.ts';

const PAGE = 5_000;
const ROUND_TRIP_MS = 200;

describe('a stalled downstream', () => {
  it('has never more than its cap outstanding, asks for nothing once it is full, and is served within a page after it moves', async () => {
    const clock = virtualClock();
    const budget = rateBudget({ limit: 15, windowMs: 900_000, clock });
    const pool = credentialPool({ members: [{ name: 'app', budgets: [budget] }], clock });
    const door = admission({ pool, clock });
    const credits = creditPool({ max: 20_000 });
    const requests: number[] = [];
    const moves = new Subject<void>();
    let most = 0;
    const walks = Array.from({ length: 20 }, () =>
      endlessWalk({ clock, door, onRequest: () => requests.push(clock.monotonicMs()) })
        .drain(() => new Observable<never>((page) => moves.subscribe(() => page.complete())), { credits })
        .subscribe(),
    );
    for (let second = 0; second < 5_700; second += 1) {
      await clock.advance(1_000);
      most = Math.max(most, credits.outstanding);
    }
    expect([most, requests.length, requests.every((at) => at === 0)]).toEqual([20_000, 4, true]);
    const movedAt = clock.monotonicMs();
    moves.next();
    await clock.settle();
    expect(requests[4]).toBe(movedAt);
    for (const walk of walks) walk.unsubscribe();
    await clock.advance(ROUND_TRIP_MS);
    expect([credits.outstanding, door.waiting().length]).toEqual([0, 0]);
  });

  it('costs nothing for an hour: no timer, no request', async () => {
    const clock = virtualClock();
    const pool = credentialPool({ members: [{ name: 'app', budgets: [rateBudget({ limit: 1_000, windowMs: 1_000, clock })] }], clock });
    let requests = 0;
    const walk = endlessWalk({ clock, door: admission({ pool, clock }), onRequest: () => (requests += 1) })
      .drain(() => NEVER, { maxOutstanding: 20_000 })
      .subscribe();
    await clock.advance(10_000);
    expect([requests, clock.pending]).toEqual([4, 0]);
    await clock.advance(3_600_000);
    expect(requests).toBe(4);
    walk.unsubscribe();
  });
});

describe('a machine that stops the program', () => {
  it.each([
    { what: 'may go at once', room: 10 },
    { what: 'waits for room', room: 2 },
  ])('may do so between any two looks at the clock: a request that $what goes in its time', async ({ room }) => {
    const looks = { done: 0, stopAt: 0 };
    for (; looks.stopAt <= looks.done; looks.stopAt += 1) {
      looks.done = 0;
      const clock = virtualClock();
      // From look number `stopAt` on, this clock is 5 ms ahead. Then the 25 ms for which a response confirms capacity can be over.
      const stopped: Clock = {
        ...clock,
        monotonicMs: () => clock.monotonicMs() + (looks.done++ >= looks.stopAt ? 5 : 0),
      };
      const budget = rateBudget({ limit: 4, windowMs: 1_000, clock: stopped });
      const pool = credentialPool({ members: [{ name: 'app', budgets: [budget] }], clock: stopped });
      const door = admission({ pool, clock: stopped });
      const credits = creditPool({ max: room });
      const first = await door.acquire({ credits, items: 1 });
      first.sent();
      first.answered([{ remaining: 3, resetInMs: 1_000 }]);
      await clock.advance(20);
      const second = door.acquire({ credits, items: 1 });
      await clock.advance(4);
      const third = door.acquire({ credits, items: 1 });
      first.credit.release();
      await clock.advance(100);
      expect([await second, await third]).toHaveLength(2);
    }
    expect(looks.stopAt).toBeGreaterThan(10);
  });
});

describe('any interleaving', () => {
  const step = fc.record({
    do: fc.constantFrom(
      ...(['acquire', 'acquire', 'acquire', 'answer', 'abort', 'unsent', 'cancel', 'release', 'wait', 'step-clock'] as const),
    ),
    which: fc.nat(30),
    items: fc.integer({ min: 0, max: 12 }),
  });

  it('overruns no window, leaks neither credit nor token, and serves every waiting request in the end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), fc.integer({ min: 1, max: 4 }), async (steps, limit) => {
        const clock = virtualClock();
        const budget = rateBudget({ limit, windowMs: 1_000, guardMs: 0, maxDelayMs: 100, clock });
        const pool = credentialPool({ members: [{ name: 'app', budgets: [budget] }], clock });
        const door = admission({ pool, clock });
        const credits = creditPool({ max: 20 });
        const held: Permit[] = [];
        const settled = new Set<Permit>();
        const sent: number[] = [];
        const cancels: AbortController[] = [];
        let asked = 0;
        let served = 0;
        let cancelled = 0;
        const finish = (permit: Permit | undefined, how: 'answer' | 'abort' | 'unsent'): void => {
          if (permit === undefined || settled.has(permit)) return;
          settled.add(permit);
          if (how !== 'unsent') {
            permit.sent();
            sent.push(clock.monotonicMs());
          }
          if (how === 'answer') permit.answered();
          else permit.aborted();
        };
        for (const { do: what, which, items } of steps) {
          if (what === 'acquire') {
            const cancel = new AbortController();
            cancels.push(cancel);
            asked += 1;
            door.acquire({ credits, items, signal: cancel.signal }).then(
              (permit) => {
                served += 1;
                held.push(permit);
              },
              () => (cancelled += 1),
            );
          }
          if (what === 'answer' || what === 'abort' || what === 'unsent') finish(held[which % Math.max(1, held.length)], what);
          if (what === 'release') held[which % Math.max(1, held.length)]?.credit.release();
          if (what === 'cancel') cancels[which % Math.max(1, cancels.length)]?.abort(new Error('enough'));
          if (what === 'wait') await clock.advance(which * 50);
          if (what === 'step-clock') clock.stepEpoch((which - 15) * 60_000);
          await clock.settle();
        }
        for (let round = 0; round < steps.length + 1; round += 1) {
          for (const permit of held) {
            finish(permit, 'unsent');
            permit.credit.release();
          }
          await clock.advance(2_000);
        }
        expect(served + cancelled).toBe(asked);
        expect([credits.outstanding, door.waiting().length, budget.used, clock.pending]).toEqual([0, 0, 0, 0]);
        expect(sent.filter((at, i) => i >= limit && at - (sent[i - limit] ?? 0) < 1_000)).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});

interface WalkOptions {
  readonly clock: VirtualClock;
  readonly door: Admission;
  readonly onRequest: () => void;
}

function endlessWalk({ clock, door, onRequest }: WalkOptions): PageStream<number> {
  return new PageStream(({ credits, signal }) => {
    let page = 0;
    return {
      async read() {
        const permit = await door.acquire({ credits, items: PAGE, signal });
        permit.sent();
        onRequest();
        await new Promise<void>((resolve) => clock.schedule(ROUND_TRIP_MS, resolve));
        permit.answered();
        page += 1;
        return [{ value: page, credit: permit.credit }];
      },
    };
  });
}
