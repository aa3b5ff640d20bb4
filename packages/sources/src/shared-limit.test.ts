import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BudgetSnapshot, type Journal, creditPool } from '@headgate/throttle';
import { fileJournal } from '@headgate/throttle/file-journal';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { defineSource } from './define-source.ts';
import { credential, MINUTE_MS, ok, play, said, thrown, toy } from './scene.fixture.ts';
import { SharedLimits } from './retry/shared-limits.ts';
import type { Budgets } from './source-options.ts';
import { scriptedServer } from './testing/scripted-server.ts';

const address = { requests: 3, windowMs: MINUTE_MS, shared: true };
const credentials = ['a', 'b', 'c'].map(credential);

test('a shared limit is one over all credentials: it is waited for, shown and forecast once', async () => {
  const scene = await play([], { limit: { requests: 2, windowMs: 1_000 }, budgets: { address }, credentials }, { items: () => 1 });
  for (const path of ['/1', '/2', '/3']) await scene.query(path);
  const carriers = scene.events.map((event) => event.credential);
  expect(carriers).toEqual(['a', 'b', 'c']);
  const waiting = scene.query('/4');
  await scene.clock.settle();
  const { budgets, queries } = scene.source.gauges();
  expect(budgets.map(({ credential: of, budget, used }) => [of, budget, used])).toEqual([
    ['a', 'rate', 1],
    ['b', 'rate', 1],
    ['c', 'rate', 1],
    [undefined, 'address', 3],
  ]);
  expect(queries).toMatchObject([{ subject: '/4', state: 'queued', for: 'budget' }]);
  expect(queries[0]).toMatchObject({ until: budgets[3]?.freeAt });
  expect(scene.source.slots().map(({ credential: of, name, limit }) => [of, name, limit])).toEqual([
    ['a', 'rate', 2],
    ['b', 'rate', 2],
    ['c', 'rate', 2],
    [undefined, 'address', 3],
  ]);
  await scene.clock.advance(MINUTE_MS - 1);
  expect(scene.server.requests).toHaveLength(3);
  await scene.clock.advance(100);
  await waiting;
});

const LIMIT = { requests: 10, windowMs: 1_000 };
const REFUSAL = said('rate-limited', { retryInMs: 30_000 });

test("a refusal holds its credential's own budgets: another credential finds out whether the shared one is meant", async () => {
  const scene = await play(
    [REFUSAL],
    { limit: LIMIT, budgets: { address: { ...address, requests: 100 } }, credentials },
    { items: () => 1 },
  );
  await scene.query('/first');
  const { budgets } = scene.source.gauges();
  expect(budgets.map(({ freeAt = 0 }) => Math.max(0, freeAt - scene.clock.epochMs()))).toEqual([30_000, 0, 0, 0]);
});

test('a second credential that is refused meanwhile holds the shared limit, too', async () => {
  const scene = await play(
    [REFUSAL, REFUSAL],
    { limit: LIMIT, budgets: { address: { ...address, requests: 100 } }, credentials },
    { items: () => 1 },
  );
  const first = scene.query('/first');
  await expect.poll(() => scene.events.length).toBe(2);
  const { budgets } = scene.source.gauges();
  expect(budgets.map(({ freeAt = 0 }) => Math.max(0, freeAt - scene.clock.epochMs()))).toEqual([30_000, 30_000, 0, 30_000]);
  await scene.clock.advance(29_000);
  expect(scene.server.requests).toHaveLength(2);
  await scene.clock.advance(1_000);
  await first;
});

test('a refusal of a request that has no budget but a shared one holds that', async () => {
  const scene = await play(
    [said('rate-limited', { retryInMs: 30_000 })],
    { limit: { ...address, requests: 9 }, credentials },
    { items: () => 1 },
  );
  const first = scene.query('/first');
  await scene.requests(1);
  await expect.poll(() => scene.events.length).toBe(1);
  await scene.clock.advance(29_000);
  expect(scene.server.requests).toHaveLength(1);
  await scene.clock.advance(1_000);
  await first;
});

/** Creates a service and a journal for sources that run one after another, as separate processes do. */
async function processes() {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-'));
  const server = await scriptedServer({ script: [], otherwise: ok });
  const clock: VirtualClock = virtualClock();
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  /** Sends `requests` at once, and returns how many the service got within `forMs`. */
  const run = async (names: readonly string[], budgets: Budgets, { requests, forMs = 0 }: { requests: number; forMs?: number }) => {
    const journal = await fileJournal({ file: join(folder, 'journal.db'), clock });
    const source = defineSource<string, string>({ ...toy([]), weights: () => ({}) })({
      baseUrl: server.url,
      credentials: names.map(credential),
      budgets,
      journal,
      clock,
      env: {},
      maxDelayMs: 0,
    });
    const before = server.requests.length;
    const all = Array.from({ length: requests }, (_, i) =>
      source.query(`/${i}`, { credits: creditPool({ max: 99 }) }).catch(() => undefined),
    );
    await clock.advance(forMs);
    source.stop();
    await Promise.all(all);
    await source.close();
    await journal.close();
    return server.requests.length - before;
  };
  return { clock, run };
}

test('a restart continues the window of a shared limit, whichever credentials are left', async () => {
  const { clock, run } = await processes();
  expect(await run(['a', 'b'], { address }, { requests: 5 })).toBe(3);
  expect(await run(['c'], { address }, { requests: 5 })).toBe(0);
  await clock.advance(MINUTE_MS / 2);
  expect(await run(['a', 'b', 'c'], { address }, { requests: 5 })).toBe(0);
  await clock.advance(MINUTE_MS / 2 + 100);
  expect(await run(['c', 'd'], { address }, { requests: 5 })).toBe(3);
});

test("a limit that becomes shared, or each credential's own, counts the requests of before", async () => {
  const { run } = await processes();
  const own = { address: { ...address, shared: false } };
  expect(await run(['a'], own, { requests: 5 })).toBe(3);
  expect(await run(['a', 'b'], { address }, { requests: 5 })).toBe(0);
  const again = await processes();
  expect(await again.run(['a', 'b'], { address }, { requests: 5 })).toBe(3);
  expect(await again.run(['a', 'b'], own, { requests: 5 })).toBe(0);
});

test('a limit that is removed and added again counts the requests of before, shared or not', async () => {
  for (const shared of [false, true]) {
    const { run } = await processes();
    const other = { other: { requests: 9, windowMs: MINUTE_MS, shared } };
    expect(await run(['a'], { address: { ...address, shared }, ...other }, { requests: 5 })).toBe(3);
    expect(await run(['a'], other, { requests: 1 })).toBe(1);
    expect(await run(['a'], { address: { ...address, shared }, ...other }, { requests: 5 })).toBe(0);
  }
});

test('no window is over a shared limit, for any credentials that come and go with restarts', async () => {
  const run = fc.record({
    names: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1 }),
    requests: fc.nat(6),
    pauseMs: fc.constantFrom(0, 1_000, 20_000, 59_000, 61_000),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(run, { minLength: 2, maxLength: 5 }), async (runs) => {
      const { clock, run: start } = await processes();
      const sent: number[] = [];
      for (const { names, requests, pauseMs } of runs) {
        const count = await start(names, { own: { requests: 2, windowMs: MINUTE_MS }, address }, { requests });
        const recent = sent.filter((at) => at > clock.monotonicMs() - MINUTE_MS).length;
        expect(recent + count).toBeLessThanOrEqual(address.requests);
        for (let i = 0; i < count; i += 1) sent.push(clock.monotonicMs());
        await clock.advance(pauseMs);
      }
    }),
    { numRuns: 5 },
  );
});

test.each([{ address: { requests: 1, windowMs: 1 } }, { rate: { ...address } }])(
  "a credential can't have %j instead of a shared limit",
  (budgets) => {
    const make = defineSource<string, string>({ ...toy([]), limit: { requests: 1, windowMs: 1 }, budgets: { address } });
    const error = thrown(() => make({ baseUrl: 'https://api.example.com', credentials: [{ ...credential('a'), budgets }] }));
    expect(error).toMatchObject({ code: 'HEADGATE_INVALID_OPTION' });
    expect(String(error)).toContain('must be left to the source: it is one limit over all credentials');
  },
);

test('a grant is written with the shared limit that it uses, before its response', async () => {
  const changed = new Set<string>();
  const all = new Map<string, () => readonly BudgetSnapshot[]>();
  const written = new Map<string, readonly BudgetSnapshot[]>();
  const journal: Journal = {
    leaseMs: 1_000,
    open(name, snapshots) {
      all.set(name, snapshots);
      return {
        restored: undefined,
        async granted() {
          for (const one of changed.add(name)) written.set(one, all.get(one)?.() ?? []);
          await Promise.resolve();
        },
        settled: () => void changed.add(name),
        flush: () => undefined,
      };
    },
  };
  const atSending: unknown[] = [];
  const otherwise: typeof ok = (request, response) => {
    atSending.push(written.get('')?.map(({ name, busy }) => [name, busy.length]));
    ok(request, response);
  };
  const scene = await play([], { budgets: { address }, journal, otherwise }, { items: () => 1 });
  await scene.query('/1');
  await scene.query('/2');
  expect(atSending).toEqual([[['address', 1]], [['address', 2]]]);
});

test('one credential that is refused again and again holds no shared limit', () => {
  const clock = virtualClock();
  const shared = new SharedLimits({ address }, { maxDelayMs: 0, clock });
  const budgets = shared.all.map(({ budget }) => budget);
  const until = (ms: number): number => clock.monotonicMs() + ms;
  shared.refused('a', budgets, until(5_000));
  shared.refused('a', budgets, until(5_000));
  expect(budgets[0]?.freeAt()).toBeLessThanOrEqual(clock.monotonicMs());
  shared.refused('b', budgets, until(3_000));
  expect(budgets[0]?.freeAt()).toBe(clock.monotonicMs() + 3_000);
});
