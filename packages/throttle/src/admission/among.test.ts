import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Admission, admission } from './admission.ts';
import { credentialPool } from './credential-pool.ts';
import { creditPool } from './credit-pool.ts';
import { type RateBudget, rateBudget } from '../budget/rate-budget.ts';
import { virtualClock } from '../testing/index.ts';

const WINDOW_MS = 1_000;
const NAMES = ['a', 'b', 'c', 'd'] as const;

interface Asked {
  readonly atMs: number;
  readonly among: readonly string[] | undefined;
  readonly answerMs: number;
  readonly ending: 'answered' | 'given up' | 'unsent';
  readonly walk: number;
}

interface Play {
  readonly limits: readonly number[];
  /** The limit over all credentials; undefined for no such limit. */
  readonly shared: number | undefined;
  readonly concurrency: number;
  readonly asked: readonly Asked[];
}

const plays: fc.Arbitrary<Play> = fc.record({
  limits: fc.tuple(...NAMES.map(() => fc.integer({ min: 1, max: 4 }))),
  shared: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  concurrency: fc.constantFrom(1, 2, Infinity),
  asked: fc.array(
    fc.record({
      atMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 * WINDOW_MS })),
      among: fc.option(fc.subarray([...NAMES], { minLength: 1 }), { nil: undefined, freq: 4 }),
      answerMs: fc.integer({ min: 0, max: 700 }),
      ending: fc.constantFrom(...(['answered', 'answered', 'answered', 'given up', 'unsent'] as const)),
      walk: fc.nat(5),
    }),
    { minLength: 1, maxLength: 25, size: 'max' },
  ),
});

interface Granted extends Asked {
  readonly credential: string;
  readonly grantedAt: number;
}

/** Plays the requests in virtual time. Calls `look` every 100 ms. */
async function granted({ limits, shared, concurrency, asked }: Play, look: (door: Admission, free: Free) => void): Promise<Granted[]> {
  const clock = virtualClock();
  const budget = (limit: number): RateBudget => rateBudget({ limit, windowMs: WINDOW_MS, guardMs: 0, maxDelayMs: 0, clock });
  const ofAll = shared === undefined ? [] : [budget(shared)];
  const underWay = new Map<string, number>();
  const members = NAMES.map((name, i) => ({
    name,
    budgets: [budget(limits[i] ?? 1), ...ofAll],
    heldUntilMs: () => ((underWay.get(name) ?? 0) >= concurrency ? Infinity : -Infinity),
  }));
  const pool = credentialPool({ members, clock });
  const door = admission({ pool, clock });
  const credits = creditPool({ max: Infinity });
  const walks = Array.from({ length: 5 }, () => ({}));
  const grants: Granted[] = [];
  const count = (credential: string, by: number): void => void underWay.set(credential, (underWay.get(credential) ?? 0) + by);
  const isFree: Free = (among) =>
    members.some(
      (one) =>
        (among?.includes(one.name) ?? true) &&
        one.heldUntilMs() <= clock.monotonicMs() &&
        one.budgets.every((each) => each.freeAt() <= clock.monotonicMs()),
    );
  for (const [i, one] of asked.entries()) {
    const walk = walks[one.walk];
    clock.schedule(one.atMs, () => {
      const given = { credits, items: 1, among: one.among, label: `${i}`, ...(walk !== undefined && { walk }) };
      void door.acquire({ ...given, onGranted: (credential) => count(credential, 1) }).then((permit) => {
        const { credential } = permit;
        grants.push({ ...one, credential, grantedAt: clock.monotonicMs() });
        if (one.ending !== 'unsent') permit.sent();
        clock.schedule(one.answerMs, () => {
          count(credential, -1);
          if (one.ending === 'answered') permit.answered();
          else permit.aborted();
        });
      });
    });
  }
  for (let ms = 0; ms < (asked.length + 4) * 2 * WINDOW_MS; ms += 100) {
    await clock.advance(100);
    look(door, isFree);
  }
  return grants;
}

type Free = (among: readonly string[] | undefined) => boolean;

describe('requests that only some credentials may carry', () => {
  it('start as soon as one of these is free, each by one of them, and never one too many', async () => {
    let waits = 0;
    await fc.assert(
      fc.asyncProperty(plays, async (play) => {
        const grants = await granted(play, (door, isFree) => {
          for (const { label = '' } of door.waiting()) {
            waits += 1;
            expect(isFree(play.asked[Number(label)]?.among), `a credential of ${label} is idle`).toBe(false);
          }
        });
        expect(grants).toHaveLength(play.asked.length);
        for (const { among, credential } of grants) expect(among ?? NAMES).toContain(credential);
        const counted = (of: readonly Granted[], limit: number): void => {
          const sent = of.filter(({ ending }) => ending !== 'unsent');
          // The service may count a request as late as its response. So within a window after the response, fewer than `limit` other
          // requests may start.
          for (const { grantedAt: from, answerMs } of sent)
            expect(sent.filter(({ grantedAt: at }) => at >= from + answerMs && at < from + answerMs + WINDOW_MS).length).toBeLessThan(
              limit + (answerMs === 0 ? 1 : 0),
            );
        };
        for (const [i, name] of NAMES.entries())
          counted(
            grants.filter(({ credential }) => credential === name),
            play.limits[i] ?? 1,
          );
        if (play.shared !== undefined) counted(grants, play.shared);
      }),
      { numRuns: 40 },
    );
    // Ensures that the plays included waiting.
    expect(waits).toBeGreaterThan(100);
  });

  /** Creates an admission with two credentials. The budget of `a` is used up for an hour. */
  async function twoShops() {
    const clock = virtualClock();
    const member = (name: string, windowMs: number) => ({ name, budgets: [rateBudget({ limit: 1, windowMs, guardMs: 0, clock })] });
    const pool = credentialPool({ members: [member('a', 3_600_000), member('b', 10)], clock });
    const door = admission({ pool, clock });
    const first = await door.acquire({ credits: creditPool({ max: 1 }), items: 1, among: ['a'] });
    first.sent();
    first.answered();
    const retire = (name: string): void => {
      pool.retire(name, new Error('revoked'));
      door.wake();
    };
    return { clock, pool, door, retire };
  }

  it('take turns with those of the same credential, however long others wait for another one', async () => {
    const { clock, door } = await twoShops();
    const credits = creditPool({ max: Infinity });
    const order: string[] = [];
    const ask = (label: string, walk: object, among: string): void =>
      void door.acquire({ credits, items: 1, walk, among: [among] }).then((permit) => {
        order.push(label);
        permit.sent();
        permit.answered();
      });
    for (let i = 0; i < 3; i += 1) ask('blocked', {}, 'a');
    const long = {};
    for (let i = 0; i < 10; i += 1) ask('long', long, 'b');
    for (let i = 0; i < 40; i += 1) {
      ask('short', {}, 'b');
      await clock.advance(10);
    }
    expect(order.filter((label) => label === 'long').length).toBeGreaterThan(5);
    expect(order).not.toContain('blocked');
  });

  it('say until when each waits', async () => {
    const { clock, door } = await twoShops();
    const credits = creditPool({ max: Infinity });
    const b = await door.acquire({ credits, items: 1, among: ['b'] });
    b.sent();
    b.answered();
    for (const among of [['a'], ['b'], ['b', 'a'], undefined])
      door.acquire({ credits, items: 1, among, label: String(among) }).catch(() => undefined);
    await clock.settle();
    expect(door.waiting().map(({ label, until = 0 }) => [label, until - clock.epochMs()])).toEqual([
      ['a', 3_600_000],
      ['b', 10],
      ['b,a', 10],
      ['undefined', 10],
    ]);
  });

  it('are refused at once if nobody may carry them, and when the last one leaves that may', async () => {
    const { door, retire } = await twoShops();
    const credits = creditPool({ max: Infinity });
    const refused = async (among: readonly string[]): Promise<unknown> =>
      await door.acquire({ credits, items: 1, among }).then(
        ({ credential }) => credential,
        (error: unknown) => String(error),
      );
    expect(await refused(['c', 'd'])).toBe('RangeError: admission: only c, d may carry this request, but the pool has only a, b');
    expect(await refused([])).toBe('RangeError: admission: only no credential may carry this request, but the pool has only a, b');
    expect(await refused(['c', 'b'])).toBe('b');
    const waiting = refused(['a']);
    retire('a');
    expect(await waiting).toBe('RangeError: admission: only a may carry this request, but the pool has only b');
    retire('b');
    expect(await refused(['b'])).toBe('Error: revoked');
  });

  it('are refused when the next one comes, if nobody told that the last one has left', async () => {
    const { pool, door } = await twoShops();
    const credits = creditPool({ max: Infinity });
    const waiting = door.acquire({ credits, items: 1, among: ['a'] }).catch((error: unknown) => String(error));
    pool.retire('a', new Error('revoked'));
    expect(await door.acquire({ credits, items: 1, among: ['b'] })).toMatchObject({ credential: 'b' });
    expect(await waiting).toMatch(/only a may carry this request/);
  });

  it('use the least recently used one, and leave the one alone that an earlier, heavier request needs', async () => {
    const clock = virtualClock();
    const budgets = ['a', 'b', 'c'].map((name) => ({ name, budgets: [rateBudget({ limit: 4, windowMs: WINDOW_MS, guardMs: 0, clock })] }));
    const door = admission({ pool: credentialPool({ members: budgets, clock }), clock });
    const credits = creditPool({ max: Infinity });
    const carriers: string[] = [];
    const ask = (among: readonly string[], weight = 1): void =>
      void door.acquire({ credits, items: 1, among, weights: [weight] }).then(({ credential }) => carriers.push(credential));
    for (let i = 0; i < 3; i += 1) ask(['c', 'b']);
    await clock.settle();
    expect(carriers.splice(0)).toEqual(['b', 'c', 'b']);
    ask(['c'], 4);
    for (let i = 0; i < 3; i += 1) ask(['c', 'b']);
    await clock.settle();
    expect(carriers).toEqual(['b', 'b']);
    expect(door.waiting()).toHaveLength(2);
  });

  it('leave a heavy request of another credential its share of a limit over all, and take the rest', async () => {
    const clock = virtualClock();
    const budget = (limit: number) => rateBudget({ limit, windowMs: WINDOW_MS, guardMs: 0, clock });
    const [own, all] = [budget(1), budget(5)];
    const pool = credentialPool({
      members: [
        { name: 'a', budgets: [own, all] },
        { name: 'b', budgets: [budget(9), all] },
      ],
      clock,
    });
    const door = admission({ pool, clock });
    own.take().answered();
    const credits = creditPool({ max: Infinity });
    const order: string[] = [];
    const ask = (among: string, weight: number): void =>
      void door.acquire({ credits, items: 1, among: [among], weights: [1, weight] }).then((permit) => {
        order.push(among);
        permit.sent();
        permit.answered();
      });
    ask('a', 3);
    for (let i = 0; i < 4; i += 1) ask('b', 1);
    await clock.settle();
    expect(order.join('')).toBe('bb');
    await clock.advance(WINDOW_MS);
    expect(order.join('')).toBe('bbabb');
  });
});
