import { dailyBudget, rateBudget } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import { expect, test } from 'vitest';
import { loadConfig } from '../config/load-config.ts';
import { booksOptions } from '../pipelines/books.ts';
import { followersOptions } from '../pipelines/followers.ts';
import { freeBooks, freeCredentials } from './free-budgets.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test('what journals say of a credential is added up, whichever lane wrote it, and ages', async () => {
  const { followers } = await config();
  const used = (busy: readonly (readonly [number, number])[], ageMs: number) => [
    { credential: 'app', value: [{ windowMs: 15 * MINUTE, busy }], ageMs },
  ];
  const records = [...used([[10 * MINUTE, 4]], MINUTE), ...used([[10 * MINUTE, 3]], 20 * MINUTE), ...used([[5 * MINUTE, 2]], 0)];
  const free = freeCredentials(followers, records);
  expect(free.get('app')).toEqual([
    { inMs: 0, count: 9 },
    { inMs: 5 * MINUTE, count: 2 },
    { inMs: 9 * MINUTE, count: 4 },
  ]);
  expect(free.get('reader')).toEqual([{ inMs: 0, count: 15 }]);
});

test('what a day has left is known, whatever the plan was called then', async () => {
  const { books } = await config();
  const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 1, 12) });
  const rate = rateBudget({ limit: 1, windowMs: 1_000, clock });
  const quota = dailyBudget({ limit: 500, clock });
  for (const slot of [rate.take(), quota.take(120)]) slot.answered();
  const value = [rate.snapshot(), quota.snapshot()];
  await clock.advance(HOUR);
  const journal = [{ credential: 'key', value, ageMs: HOUR }];
  expect(freeBooks(books, journal, clock.epochMs())).toEqual({
    requests: [{ inMs: 0, count: 1 }],
    isbns: [
      { inMs: 0, count: 380 },
      { inMs: 11 * HOUR + 5_000, count: 120 },
    ],
  });
});

async function config() {
  const yaml = `topics: { driver: sqlite, file: ./headgate.db }
followers:
  baseUrl: http://127.0.0.1:9
  credentials: [{ name: app, bearer: "\${TOKEN}" }, { name: reader, bearer: "\${OTHER}" }]
  limit: { requests: 15, window: 15m }
  users: [alpha]
books: { baseUrl: "http://127.0.0.1:9", key: "\${KEY}", perDay: { isbns: 500 } }
`;
  const { config: read } = await loadConfig({
    env: { TOKEN: 't', OTHER: 'o', KEY: 'k' },
    readFile: async () => await Promise.resolve(yaml),
  });
  const [followers, books] = [followersOptions(read.pipelines), booksOptions(read.pipelines)];
  if (followers === undefined || books === undefined) throw new TypeError('both are configured');
  return { followers, books };
}
