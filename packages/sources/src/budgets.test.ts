import type { BudgetSnapshot, Journal } from '@headgate/throttle';
import { expect, test } from 'vitest';
import { defineSource } from './define-source.ts';
import { credential, MINUTE_MS, play, thrown, toy } from './scene.fixture.ts';
import type { Budgets, SourceOptions } from './source-options.ts';

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Time from the beginning of the scene, midnight of 2026-01-01 UTC, to the first monthly reset. */
const UNTIL_THE_15TH_MS = 14 * DAY_MS + 6 * HOUR_MS;

const budgets: Budgets = {
  hour: { requests: 2, windowMs: HOUR_MS },
  month: { requests: 5, per: 'month', resetsOn: 15, resetsAt: '06:00' },
};
const weights = (path: string) => (path === '/costly' ? { month: 3 } : {});

test('each request is charged to all budgets by name; gauges name them, and what those who wait cost', async () => {
  const scene = await play([], { limit: undefined }, { budgets, weights });
  (await scene.query('/costly')).credit.release();
  (await scene.query()).credit.release();
  const waiting = scene.query('/costly');
  await scene.clock.settle();
  expect(scene.source.gauges()).toMatchObject({
    budgets: [
      { credential: 'a', budget: 'hour', limit: 2, used: 2 },
      { credential: 'a', budget: 'month', limit: 5, used: 4 },
    ],
    queries: [{ subject: '/costly', state: 'queued', for: 'budget', weights: { hour: 1, month: 3 } }],
  });
  await scene.clock.advance(UNTIL_THE_15TH_MS);
  expect(scene.server.requests).toHaveLength(2);
  await scene.clock.advance(5_000);
  await waiting;
  expect(scene.server.requests).toHaveLength(3);
});

test('a budget that a request does not use does not delay it', async () => {
  const one = { requests: 1, windowMs: HOUR_MS };
  const weighed = (path: string) => ({ [path === '/search' ? 'core' : 'search']: 0 });
  const scene = await play([], { limit: undefined }, { budgets: { core: one, search: one }, weights: weighed });
  await scene.query('/search');
  const second = scene.query('/search');
  await scene.query('/core');
  expect(scene.source.gauges()).toMatchObject({
    budgets: [{ used: 1 }, { used: 1 }],
    queries: [{ subject: '/search', state: 'queued', weights: { core: 0 } }],
  });
  await scene.clock.advance(HOUR_MS + 2_000);
  await second;
});

test('options replace the budgets with the same name, or add to them; a credential replaces both', async () => {
  const scene = await play(
    [],
    {
      limit: { requests: 7, windowMs: 1_000 },
      budgets: { hour: { requests: 3, windowMs: HOUR_MS } },
      credentials: [credential('a'), { ...credential('b'), budgets: { month: { requests: 9, per: 'day' } } }],
    },
    { budgets, weights },
  );
  expect(scene.source.gauges().budgets.map(({ credential: name, budget, limit }) => `${name} ${budget} ${limit}`)).toEqual([
    'a hour 3',
    'a month 5',
    'a rate 7',
    'b hour 3',
    'b month 9',
    'b rate 7',
  ]);
});

test('a journal is continued by name, whatever else has become of the budgets', async () => {
  let written: readonly BudgetSnapshot[] = [];
  const journal = (restored?: readonly BudgetSnapshot[]): Journal => ({
    leaseMs: 1_000,
    open: (name, snapshots) => ({
      restored: name === 'a' ? restored : undefined,
      granted: async () => {
        written = snapshots();
        await Promise.resolve();
      },
      settled: () => {
        written = snapshots();
      },
      flush: () => undefined,
    }),
  });
  const before = await play([], { limit: undefined, journal: journal() }, { budgets, weights });
  await before.query('/costly');
  const { hour, month } = budgets;
  if (hour === undefined || month === undefined) throw new TypeError('both are there');
  const minute = { requests: 1, windowMs: MINUTE_MS };
  const after = await play([], { limit: undefined, journal: journal(written) }, { budgets: { month, minute, hour }, weights });
  expect(after.source.gauges().budgets).toMatchObject([
    { budget: 'month', used: 3 },
    { budget: 'minute', used: 0 },
    { budget: 'hour', used: 1 },
  ]);
});

test('an unknown budget in a weight is an error of the definition, and so is a weight above the limit', async () => {
  const scene = await play([], {}, { weights: (path) => (path === '/typo' ? { mnoth: 1 } : { rate: 101 }) });
  await expect(scene.query('/typo')).rejects.toMatchObject({
    code: 'HEADGATE_DEFINITION',
    message: expect.stringContaining('weights of the toy source threw RangeError: there is no budget "mnoth", only rate.'),
  });
  await expect(scene.query()).rejects.toMatchObject({
    code: 'HEADGATE_OVER_BUDGET',
    message: expect.stringContaining('costs 101 of the budget rate, but that allows 100 per 60000 ms (a)'),
  });
});

test('a request that exceeds a budget names that budget, not one that it does not use', async () => {
  const small = { requests: 10, windowMs: MINUTE_MS };
  const scene = await play([], { budgets: { small } }, { weights: () => ({ rate: 0, small: 11 }) });
  const message = expect.stringContaining('costs 11 of the budget small, but that allows 10 per');
  await expect(scene.query()).rejects.toMatchObject({ code: 'HEADGATE_OVER_BUDGET', message });
});

test.each<[Partial<SourceOptions>, string]>([
  [{ budgets: { month: { requests: 0, per: 'month' } } }, 'budgets.month.requests must be a whole number from 1, got 0'],
  [{ budgets: { hour: { requests: 1, windowMs: NaN } } }, 'budgets.hour.windowMs must be a number above 0, got NaN'],
  [
    { budgets: { month: { requests: 1, per: 'month', resetsOn: 40 } } },
    'budgets.month.resetsOn must be a whole number from 1 to 31, got 40',
  ],
  [{ budgets: { day: { requests: 1, per: 'day', zone: 'Mars/Olympus' } } }, 'budgets.day must be a quota'],
  [
    { credentials: [{ ...credential('a'), budgets: { mnoth: { requests: 1, per: 'month' } } }] },
    'credentials a: budgets must be one of the source\'s budgets, rate, not "mnoth"',
  ],
])('%j is refused', (given, words) => {
  const make = defineSource<string, string>({ ...toy([]), limit: { requests: 1, windowMs: 1 } });
  const error = thrown(() => make({ baseUrl: 'https://api.example.com', credentials: [credential('a')], ...given }));
  expect(error).toMatchObject({ code: 'HEADGATE_INVALID_OPTION' });
  expect(String(error)).toContain(words);
});
