import { describe, expect, it } from 'vitest';
import { admission } from './admission.ts';
import { credentialPool } from './credential-pool.ts';
import { creditPool } from './credit-pool.ts';
import { rateBudget } from '../budget/rate-budget.ts';
import { virtualClock } from '../testing/index.ts';

const plenty = () => creditPool({ max: Infinity });

function gate({ limit = 2, windowMs = 1_000, names = ['app'] }: { limit?: number; windowMs?: number; names?: readonly string[] } = {}) {
  const clock = virtualClock();
  const pool = credentialPool({
    members: names.map((name) => ({ name, budgets: [rateBudget({ limit, windowMs, guardMs: 0, clock })] })),
    clock,
  });
  return { clock, pool, gate: admission({ pool, clock }) };
}

describe('admission', () => {
  it('takes token and credit in one step, first come first served, each as early as its window permits', async () => {
    const { clock, gate: door } = gate();
    const credits = plenty();
    const granted: string[] = [];
    for (const label of ['a', 'b', 'c', 'd', 'e']) {
      void door.acquire({ credits, items: 1, label }).then((permit) => {
        granted.push(`${label}@${clock.monotonicMs()}`);
        permit.sent();
        clock.schedule(100, () => permit.answered());
      });
    }
    await clock.advance(5_000);
    expect(granted).toEqual(['a@0', 'b@0', 'c@1100', 'd@1100', 'e@2200']);
  });

  it('uses no token while there is no capacity downstream, and continues at once when there is', async () => {
    const { clock, pool, gate: door } = gate();
    const credits = creditPool({ max: 10 });
    const first = await door.acquire({ credits, items: 10 });
    let second = false;
    void door.acquire({ credits, items: 10, label: '@alpha' }).then(() => (second = true));
    await clock.advance(3_600_000);
    expect(second).toBe(false);
    expect(pool.members[0]?.budgets[0]?.used).toBe(1);
    expect(door.waiting()).toEqual([{ label: '@alpha', for: 'downstream' }]);
    first.credit.release();
    await clock.settle();
    expect(second).toBe(true);
  });

  it('grants nothing while its credential is held, and one at a time if each grant holds it again', async () => {
    const clock = virtualClock();
    let heldUntilMs = 300;
    const budgets = [rateBudget({ limit: 9, windowMs: 1_000, guardMs: 0, clock })];
    const pool = credentialPool({ members: [{ name: 'app', budgets, heldUntilMs: () => heldUntilMs }], clock });
    const door = admission({ pool, clock });
    const granted: string[] = [];
    for (const label of ['a', 'b', 'c']) {
      const onGranted = (): void => void (heldUntilMs = Infinity);
      void door.acquire({ credits: plenty(), items: 1, label, onGranted }).then(() => granted.push(`${label}@${clock.monotonicMs()}`));
    }
    await clock.advance(299);
    expect(granted).toEqual([]);
    expect(door.waiting()[0]).toMatchObject({ label: 'a', for: 'budget', until: clock.epochMs() + 1 });
    await clock.advance(10_000);
    expect(granted).toEqual(['a@300']);
    expect(door.waiting()[0]).toEqual({ label: 'b', for: 'budget' });
    heldUntilMs = -Infinity;
    door.wake();
    await clock.settle();
    expect(granted).toEqual(['a@300', 'b@10299']);
  });

  it('lets no request wait for the downstream of another', async () => {
    const { gate: door } = gate();
    const stuck = creditPool({ max: 1 });
    await door.acquire({ credits: stuck, items: 1 });
    void door.acquire({ credits: stuck, items: 1 });
    const other = await door.acquire({ credits: plenty(), items: 1 });
    expect(other.credential).toBe('app');
  });

  it('does not let small requests starve a big one of the same downstream', async () => {
    const { clock, gate: door } = gate({ limit: 100 });
    const credits = creditPool({ max: 10 });
    const order: string[] = [];
    const small = await door.acquire({ credits, items: 5 });
    void door.acquire({ credits, items: 10, label: 'big' }).then((permit) => {
      order.push('big');
      permit.credit.release();
    });
    void door.acquire({ credits, items: 5, label: 'late' }).then(() => order.push('late'));
    await clock.settle();
    expect(order).toEqual([]);
    small.credit.release();
    await clock.settle();
    expect(order).toEqual(['big', 'late']);
  });

  it('leaves the queue when aborted, and keeps neither timer nor listener', async () => {
    const { clock, gate: door } = gate({ limit: 1 });
    const credits = plenty();
    const first = await door.acquire({ credits, items: 1 });
    first.sent();
    first.answered();
    const abort = new AbortController();
    const waiting = door.acquire({ credits, items: 1, signal: abort.signal });
    expect(door.waiting()).toHaveLength(1);
    expect(clock.pending).toBe(1);
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(door.acquire({ credits, items: 1, signal: abort.signal })).rejects.toThrow('enough');
    expect([door.waiting().length, clock.pending]).toEqual([0, 0]);
  });

  it('watches a downstream only while a request waits for it', async () => {
    const { gate: door } = gate({ limit: 9 });
    const room = creditPool({ max: 5 });
    let watchers = 0;
    const credits = {
      ...room,
      onRelease(callback: () => void) {
        watchers += 1;
        const unwatch = room.onRelease(callback);
        return () => {
          watchers -= 1;
          unwatch();
        };
      },
    };
    const first = await door.acquire({ credits, items: 5 });
    expect(watchers).toBe(0);
    const others = [1, 2].map((items) => door.acquire({ credits, items }));
    expect(watchers).toBe(1);
    first.credit.release();
    await Promise.all(others);
    expect(watchers).toBe(0);
  });

  it('looks at the clock again when a timer fires early', async () => {
    const { clock, pool } = gate({ limit: 1 });
    const hasty = admission({
      pool,
      clock: {
        monotonicMs: () => clock.monotonicMs(),
        epochMs: () => clock.epochMs(),
        schedule: (ms, call) => clock.schedule(ms > 2 ? ms - 1 : ms, call),
      },
    });
    const credits = plenty();
    const first = await hasty.acquire({ credits, items: 1 });
    first.sent();
    first.answered();
    let at = 0;
    void hasty.acquire({ credits, items: 1 }).then(() => (at = clock.monotonicMs()));
    await clock.advance(999);
    expect(at).toBe(0);
  });

  it('uses whichever credential may start first, and uses all evenly', async () => {
    const { gate: door } = gate({ limit: 2, names: ['a', 'b', 'c'] });
    const names: string[] = [];
    for (let i = 0; i < 6; i += 1) names.push((await door.acquire({ credits: plenty(), items: 1 })).credential);
    expect(names).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  });

  it('starts the next at once when a response shows that its request cost less, and none if others use the budget', async () => {
    const { clock, pool, gate: door } = gate({ limit: 5 });
    const credits = plenty();
    const first = await door.acquire({ credits, items: 1, weights: [5] });
    first.sent();
    first.answered([{ remaining: 0, resetInMs: 1_000 }]);
    let granted = false;
    void door.acquire({ credits, items: 1, weights: [3] }).then(() => (granted = true));
    first.corrected([4]);
    await clock.settle();
    // The service has counted 5. Our request cost 4, so 1 belongs to another client.
    expect([granted, pool.members[0]?.budgets[0]?.used]).toEqual([false, 5]);
    const other = gate({ limit: 5 });
    const permit = await other.gate.acquire({ credits, items: 1, weights: [5] });
    permit.sent();
    permit.answered();
    void other.gate.acquire({ credits, items: 1, weights: [3] }).then(() => (granted = true));
    permit.corrected([2]);
    await other.clock.settle();
    expect(granted).toBe(true);
  });

  it('continues without a removed credential, and fails with its reason when it was the last', async () => {
    const { pool, gate: door } = gate({ names: ['a', 'b'] });
    pool.retire('a', new Error('a was revoked'));
    expect((await door.acquire({ credits: plenty(), items: 1 })).credential).toBe('b');
    await door.acquire({ credits: plenty(), items: 1 });
    const waiting = door.acquire({ credits: plenty(), items: 1 });
    pool.retire('b', new Error('b was revoked'));
    door.wake();
    await expect(waiting).rejects.toThrow('b was revoked');
  });

  it('tells the journal the most that a request costs in a budget', async () => {
    const clock = virtualClock();
    const weights: unknown[] = [];
    const granted = async (weight?: number): Promise<void> => await Promise.resolve(void weights.push(weight));
    const journal = { restored: undefined, granted, settled: () => undefined, flush: () => undefined };
    const budgets = [9, 9].map((limit) => rateBudget({ limit, windowMs: 1_000, guardMs: 0, clock }));
    const door = admission({ pool: credentialPool({ members: [{ name: 'app', budgets, journal }], clock }), clock });
    const credits = creditPool({ max: 10 });
    for (const costs of [[2, 3], [4], [0, 0], []]) await door.acquire({ credits, items: 1, weights: costs });
    expect(weights).toEqual([3, 4, 1, 1]);
  });

  it('delivers a permit only when its grant is durable, and takes it back when that fails', async () => {
    const clock = virtualClock();
    const written: { resolve: () => void; reject: (error: Error) => void }[] = [];
    const journal = {
      restored: undefined,
      granted: () => new Promise<void>((resolve, reject) => written.push({ resolve, reject })),
      settled: () => undefined,
      flush: () => undefined,
    };
    const budget = rateBudget({ limit: 1, windowMs: 1_000, guardMs: 0, clock });
    const pool = credentialPool({ members: [{ name: 'app', budgets: [budget], journal }], clock });
    const door = admission({ pool, clock });
    const credits = creditPool({ max: 10 });

    let got = false;
    const first = door.acquire({ credits, items: 10 }).then((permit) => {
      got = true;
      return permit;
    });
    await clock.settle();
    expect([got, budget.used, credits.outstanding]).toEqual([false, 1, 10]);
    written[0]?.resolve();
    const permit = await first;
    permit.aborted();
    permit.credit.release();

    const second = door.acquire({ credits, items: 10 });
    written[1]?.reject(new Error('disk full'));
    await expect(second).rejects.toThrow('disk full');
    expect([budget.used, credits.outstanding]).toEqual([0, 0]);

    const abort = new AbortController();
    const third = door.acquire({ credits, items: 10, signal: abort.signal });
    abort.abort(new Error('enough'));
    written[2]?.resolve();
    await expect(third).rejects.toThrow('enough');
    await clock.settle();
    expect([budget.used, credits.outstanding]).toEqual([0, 0]);
  });

  it('refuses at once what no budget could ever afford, and continues with the others', async () => {
    const { gate: door } = gate({ limit: 2 });
    await expect(door.acquire({ credits: plenty(), items: 1, weights: [3] })).rejects.toThrow(RangeError);
    expect((await door.acquire({ credits: plenty(), items: 1 })).credential).toBe('app');
  });

  it.each([{ items: 1.5 }, { items: -1 }, { items: Number.NaN }])('refuses %o at once, before it takes a slot or a turn', async (wrong) => {
    const { clock, pool, gate: door } = gate({ limit: 1 });
    const ask = (more: object = {}) => door.acquire({ credits: plenty(), items: 1, ...more });
    await expect(ask(wrong)).rejects.toThrow(RangeError);
    expect(pool.members[0]?.budgets[0]?.used).toBe(0);
    (await ask()).answered();
    await expect(ask(wrong)).rejects.toThrow(RangeError);
    expect([door.waiting(), clock.pending]).toEqual([[], 0]);
  });

  describe('with credentials of unlike limits', () => {
    const unlike = () => {
      const clock = virtualClock();
      const members = [2, 5].map((limit) => ({
        name: `of ${limit}`,
        budgets: [rateBudget({ limit, windowMs: 1_000, guardMs: 0, clock })],
      }));
      const pool = credentialPool({ members, clock });
      return { clock, pool, door: admission({ pool, clock }) };
    };

    it('gives heavy requests to one that can afford them, and lets them wait for it', async () => {
      const { clock, door } = unlike();
      const credits = creditPool({ max: 2 });
      const first = await door.acquire({ credits, items: 1, weights: [4] });
      first.sent();
      const granted: string[] = [];
      const ask = (weight: number): void =>
        void door.acquire({ credits, items: 1, weights: [weight] }).then(({ credential }) => granted.push(`${weight} ${credential}`));
      ask(4);
      ask(5);
      await clock.settle();
      expect(door.waiting().map((waiting) => waiting.for)).toEqual(['budget', 'budget']);
      first.answered();
      first.credit.release();
      await clock.advance(3_000);
      expect([first.credential, ...granted]).toEqual(['of 5', '4 of 5']);
    });

    it('refuses only requests that no remaining credential can afford', async () => {
      const { clock, pool, door } = unlike();
      const credits = creditPool({ max: 1 });
      const first = await door.acquire({ credits, items: 1 });
      const heavy = door.acquire({ credits, items: 1, weights: [4] });
      const light = door.acquire({ credits, items: 1, weights: [2] });
      pool.retire('of 5', new Error('revoked'));
      expect(door.waiting().map((waiting) => waiting.for)).toEqual(['downstream', 'downstream']);
      first.aborted();
      first.credit.release();
      await expect(heavy).rejects.toThrow(RangeError);
      expect((await light).credential).toBe('of 2');
      expect([door.waiting(), clock.pending]).toEqual([[], 0]);
    });
  });

  it('does not let a big walk starve a small one', async () => {
    const { clock, gate: door } = gate({ limit: 1 });
    const credits = plenty();
    const served: string[] = [];
    const [big, small] = [{}, {}];
    const ask = (label: string, walk: object): void =>
      void door.acquire({ credits, items: 1, label, walk }).then((permit) => {
        served.push(label);
        permit.sent();
        permit.answered();
      });
    for (let i = 0; i < 10; i += 1) ask('big', big);
    for (let i = 0; i < 2; i += 1) ask('small', small);
    await clock.advance(4_000);
    expect(served).toEqual(['big', 'small', 'big', 'small', 'big']);
  });

  it('gives a started walk its turn among newcomers, however many come', async () => {
    const { clock, gate: door } = gate({ limit: 1 });
    const credits = plenty();
    const served: string[] = [];
    const ask = (label: string, walk: object): void =>
      void door.acquire({ credits, items: 1, label, walk }).then((permit) => {
        served.push(label);
        permit.sent();
        permit.answered();
        // The walk requests its next page, and a new walk replaces one that was served.
        if (label === 'walk') ask('walk', walk);
        else ask('new', {});
      });
    ask('walk', {});
    for (let i = 0; i < 4; i += 1) ask('new', {});
    await clock.advance(29_000);
    expect(served).toHaveLength(30);
    for (let from = 0; from < 25; from += 5) expect(served.slice(from, from + 5)).toContain('walk');
  });

  // This test would be very slow if each request that comes or goes looked at all the others.
  it('bears many waiting requests: with one downstream and one signal', async () => {
    const { clock, gate: door } = gate({ limit: 200_000 });
    const credits = creditPool({ max: 1 });
    const abort = new AbortController();
    const first = await door.acquire({ credits, items: 1 });
    let granted = 0;
    let refused = 0;
    for (let i = 0; i < 20_000; i += 1) {
      door.acquire({ credits, items: 1, ...(i % 2 === 0 && { signal: abort.signal }) }).then(
        (permit) => {
          granted += 1;
          permit.credit.release();
          if (granted === 5_000) abort.abort();
        },
        () => (refused += 1),
      );
    }
    first.credit.release();
    await clock.settle();
    expect([granted + refused, door.waiting().length, clock.pending]).toEqual([20_000, 0, 0]);
    expect(refused).toBeGreaterThan(7_400);
  });
});

describe('a disposed permit', () => {
  const granted = async () => {
    const clock = virtualClock();
    const budget = rateBudget({ limit: 1, windowMs: 1_000, guardMs: 0, maxDelayMs: 300, clock });
    const pool = credentialPool({ members: [{ name: 'app', budgets: [budget] }], clock });
    const credits = creditPool({ max: 1 });
    return { budget, credits, permit: await admission({ pool, clock }).acquire({ credits, items: 1 }) };
  };
  it.each([
    { how: 'never sent', settle: [], freeAt: 0 },
    { how: 'sent', settle: ['sent'], freeAt: 1_300 },
    { how: 'answered', settle: ['sent', 'answered'], freeAt: 1_000 },
  ] as const)(
    '$how: gives its credit back, and its token when the service can no longer hold it against us',
    async ({ settle, freeAt }) => {
      const { budget, credits, permit } = await granted();
      {
        using held = permit;
        for (const step of settle) held[step]();
        expect(credits.outstanding).toBe(1);
      }
      expect([budget.freeAt(), credits.outstanding]).toEqual([freeAt, 0]);
    },
  );
});
