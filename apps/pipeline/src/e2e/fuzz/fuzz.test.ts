import { sampleIsbn } from '@headgate/sandbox';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { books } from '../../pipelines/books.ts';
import { followers } from '../../pipelines/followers.ts';
import { hostileAnswer } from './answers.fixture.ts';
import { booksContent } from './books-content.fixture.ts';
import { followersContent } from './followers-content.fixture.ts';
import { type FuzzedRecord, fuzzedRun } from './fuzzed-run.fixture.ts';
import { hostileService } from './hostile-service.fixture.ts';
import { heldBytes } from './memory.fixture.ts';

const TORTURE = process.env['HEADGATE_TORTURE'] === '1';
const parameters = { numRuns: TORTURE ? 1_500 : 60 };
/** Maximum duration of a sample, ms. No scenario starts after that, but a started one is finished. */
const SAMPLE_MS = TORTURE ? Infinity : 12_000;

const MAX_BODY = 2 ** 20;
/** Maximum bytes of an answer that sockets buffer after its reader has stopped. */
const IN_SOCKETS = 8 * 2 ** 20;

/** Maximum bytes that all runs together can keep after they have ended. */
const KEPT = 48 * 2 ** 20;

let before = Infinity;
beforeAll(() => {
  before = heldBytes();
});
afterAll(() => {
  const kept = heldBytes() - before;
  if (kept > KEPT) throw new Error(`${kept} bytes are kept from run to run`);
});

/** Shrinking is off, because a shorter or simpler text wouldn't be a secret. */
const secret = fc.noShrink(
  fc.string({
    unit: fc.constantFrom(...Array.from('ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789')),
    minLength: 20,
    maxLength: 40,
  }),
);
const common = {
  answers: fc.array(hostileAnswer, { maxLength: 25 }),
  stops: fc.uniqueArray(fc.integer({ min: 1, max: 30 }), { maxLength: 2 }),
  headers: fc.constantFrom('true' as const, 'lies' as const, 'none' as const),
  foreign: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
};
const http = { timeout: 30_000, maxBody: MAX_BODY, retryFor: 60_000 } as const;

it('followers: whatever the service returns, each crawl ends once, within the budget, and no secret is shown', async () => {
  const scenario = fc.record({
    ...common,
    limit: fc.integer({ min: 3, max: 6 }),
    windowMs: fc.constantFrom(1_000, 60_000, 900_000),
    users: fc.dictionary(
      fc.constantFrom('ada', 'bert', 'cleo', 'dora', 'emil'),
      fc.array(fc.nat({ max: 10 }), { minLength: 1, maxLength: 5 }),
      {
        minKeys: 1,
      },
    ),
    secrets: fc.uniqueArray(secret, { minLength: 5, maxLength: 5 }),
    both: fc.boolean(),
  });
  const until = performance.now() + SAMPLE_MS;
  await fc.assert(
    fc.asyncProperty(scenario, async ({ users, secrets, both, limit, windowMs, ...given }) => {
      if (performance.now() > until) return;
      const [bearer = '', consumerKey = '', consumerSecret = '', token = '', tokenSecret = ''] = secrets;
      const content = followersContent(users);
      await using service = await hostileService({ ...given, content, limit, windowMs });
      const oauth = { name: 'user', oauth1: { consumerKey, consumerSecret, token, tokenSecret } };
      const pipeline = () =>
        followers({
          ...http,
          baseUrl: service.url,
          credentials: [{ name: 'app', bearer }, ...(both ? [oauth] : [])],
          limit: { requests: limit, window: windowMs },
          count: 10,
          users: [...Object.keys(users), 'nobody'].map((screenName) => ({ screenName })),
          emit: ['pages', 'ids'],
          maxEmptyPages: 3,
          maxOutstanding: 30,
        });
      const records = await fuzzedRun({
        service,
        pipeline,
        topics: ['followers.pages', 'followers.ids', 'followers.crawls', 'followers.dead-letters', 'headgate.state'],
        enqueue: [],
        secrets: both ? secrets : [bearer],
        stops: given.stops,
        answers: given.answers.length,
        limit,
        windowMs,
      });
      expect(service.mostBytes).toBeLessThan(MAX_BODY + IN_SOCKETS);
      for (const name of [...Object.keys(users), 'nobody']) endedOnce(`@${name}`, records, content.told);
    }),
    parameters,
  );
});

function endedOnce(user: string, records: readonly FuzzedRecord[], told: ReadonlyMap<string, ReadonlySet<string>>): void {
  const of = (topic: string) => records.filter((record) => record.topic === topic && record.key === user).map(({ value }) => value);
  const [pages, ids, crawls, deadLetters] = ['pages', 'ids', 'crawls', 'dead-letters'].map((topic) => of(`followers.${topic}`));
  const [first, last] = crawls ?? [];
  expect(crawls?.map(({ state }) => state)).toEqual(['started', deadLetters?.length === 1 ? 'failed' : 'completed']);
  expect(deadLetters?.length).toBeLessThan(2);
  expect(pages?.map(({ page }) => page)).toEqual(pages?.map((_, i) => i + 1));
  expect([first?.['crawl'], last?.['pages']]).toEqual([last?.['crawl'], pages?.length]);
  expect(ids?.map(({ id }) => id)).toEqual(pages?.flatMap((page) => page['ids']));
  expect(last?.['ids']).toBe(ids?.length);
  for (const { cursor, ids } of pages ?? []) {
    const answers = [...(told.get(`${user} ${String(cursor)}`) ?? [])];
    expect(answers.some((answer) => sameIds(answer, ids))).toBe(true);
  }
}

/** Compares IDs regardless of whether they were sent as text or as numbers. */
function sameIds(sent: string, written: unknown): boolean {
  return sent.replaceAll('"', '') === JSON.stringify(written).replaceAll('"', '');
}

it('books: whatever the service returns, each ISBN and author ends once, within the budget, and no secret is shown', async () => {
  const scenario = fc.record({
    ...common,
    isbns: fc.uniqueArray(fc.nat({ max: 20 }), { maxLength: 10 }),
    lists: fc.array(fc.uniqueArray(fc.nat({ max: 20 }), { minLength: 1, maxLength: 6 }), { maxLength: 3 }),
    authors: fc.dictionary(fc.constantFrom('Ada Brook', 'Bert', 'Limit Exceeded'), fc.nat({ max: 45 })),
    maxBatch: fc.constantFrom(1, 3, 10),
    key: secret,
  });
  const until = performance.now() + SAMPLE_MS;
  await fc.assert(
    fc.asyncProperty(scenario, async ({ isbns, lists, authors, maxBatch, key, ...given }) => {
      if (performance.now() > until) return;
      const content = booksContent(authors);
      const [limit, windowMs] = [5, 1_000];
      await using service = await hostileService({ ...given, content, limit, windowMs });
      const pipeline = () =>
        books({
          ...http,
          baseUrl: service.url,
          plan: 'pro',
          key,
          maxBatch,
          isbns: [...isbns.map(sampleIsbn), 'no ISBN'],
          authors: Object.keys(authors),
          pageSize: 10,
          maxOutstanding: 30,
        });
      const records = await fuzzedRun({
        service,
        pipeline,
        topics: ['books.records', 'books.authors', 'books.missing', 'books.dead-letters', 'headgate.state'],
        enqueue: lists.map((list) => ({ isbns: list.map(sampleIsbn) })),
        secrets: [key],
        stops: given.stops,
        answers: given.answers.length,
        limit,
        windowMs,
      });
      expect(service.mostBytes).toBeLessThan(MAX_BODY + IN_SOCKETS);
      const asked = [...isbns, ...lists.flat()].map(sampleIsbn);
      const answered = records.flatMap(isbnsOf);
      expect(answered.toSorted()).toEqual([...asked, 'no ISBN'].toSorted());
      for (const author of Object.keys(authors)) authorEndedOnce(author, records);
    }),
    parameters,
  );
});

/** The ISBNs that are finished with this record. */
function isbnsOf({ topic, value }: FuzzedRecord): readonly unknown[] {
  if (topic === 'books.records' || topic === 'books.missing') return [value['isbn']];
  if (topic !== 'books.dead-letters') return [];
  const { isbn, isbns } = (value['request'] ?? {}) as { isbn?: string; isbns?: readonly string[] };
  return isbns ?? (isbn === undefined ? [] : [isbn]);
}

function authorEndedOnce(author: string, records: readonly FuzzedRecord[]): void {
  const pages = records.filter(({ topic, value }) => topic === 'books.authors' && value['author'] === author).map(({ value }) => value);
  const deadLetters = records.filter(({ topic, key }) => topic === 'books.dead-letters' && key === author);
  expect(pages.map(({ page }) => page)).toEqual(pages.map((_, i) => i + 1));
  const ends = [...pages.filter(({ last }) => last === true), ...deadLetters];
  expect(ends).toHaveLength(1);
  expect(pages.slice(0, -1).filter(({ last }) => last === true)).toEqual([]);
}
