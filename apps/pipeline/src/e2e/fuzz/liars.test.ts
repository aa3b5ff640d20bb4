import { sampleIsbn } from '@headgate/sandbox';
import { expect, it } from 'vitest';
import { books } from '../../pipelines/books.ts';
import { followers } from '../../pipelines/followers.ts';
import type { HostileAnswer } from './answers.fixture.ts';
import { booksContent } from './books-content.fixture.ts';
import { followersContent } from './followers-content.fixture.ts';
import { fuzzedRun } from './fuzzed-run.fixture.ts';
import { hostileService } from './hostile-service.fixture.ts';

const MAX_BODY = 2 ** 20;
const http = { timeout: 60_000, maxBody: MAX_BODY, retryFor: 120_000, stopAfterFailures: 1_000 } as const;
const SECRET = 'ZBwPhLrTqKs7dNfXyJc4';

/** Ways to answer one request so that its answer can't be used. */
const LIES: readonly HostileAnswer[] = [
  { kind: 'no-http' },
  { kind: 'cut', at: 10 },
  { kind: 'stalled' },
  { kind: 'huge', how: 'gzip' },
  { kind: 'body', body: 'html', spelling: 0 },
  { kind: 'empty' },
  { kind: 'body', body: 'cut', spelling: 0 },
  { kind: 'compressed-badly' },
  { kind: 'body', body: 'list', spelling: 0 },
];

/** Four of five are lied to, each in its own way. */
const lieTo = (number: number): HostileAnswer | undefined => (number % 5 === 4 ? undefined : LIES[number % LIES.length]);

it('of 200 users, the 40 that get good answers are written exactly, and each of the others ends', async () => {
  const users = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`user${i}`, [10, i % 10]]));
  const content = followersContent(users);
  await using service = await hostileService({
    content,
    answers: [],
    answerTo: ({ searchParams }) => lieTo(Number(searchParams.get('screen_name')?.slice('user'.length))),
    limit: 500,
    windowMs: 1_000,
    foreign: undefined,
    headers: 'none',
  });
  const records = await fuzzedRun({
    service,
    pipeline: () =>
      followers({
        ...http,
        baseUrl: service.url,
        credentials: [{ name: 'app', bearer: SECRET }],
        limit: { requests: 500, window: 1_000 },
        count: 10,
        users: Object.keys(users).map((screenName) => ({ screenName })),
        emit: ['ids'],
      }),
    topics: ['followers.ids', 'followers.crawls', 'followers.dead-letters'],
    enqueue: [],
    secrets: [SECRET],
    stops: [],
    answers: 0,
    limit: 500,
    windowMs: 1_000,
  });
  const of = (topic: string, user: string) =>
    records.filter((record) => record.topic === `followers.${topic}` && record.key === `@${user}`);
  for (const [number, user] of Object.keys(users).entries()) {
    const isHonest = lieTo(number) === undefined;
    expect([user, of('crawls', user).at(-1)?.value['state']]).toEqual([user, isHonest ? 'completed' : 'failed']);
    expect([user, of('ids', user).length, of('dead-letters', user).length]).toEqual([
      user,
      isHonest ? 10 + (number % 10) : 0,
      isHonest ? 0 : 1,
    ]);
  }
});

it('of 80 books, the 16 that get good answers are written, and each of the others ends', async () => {
  const isbns = Array.from({ length: 80 }, (_, i) => sampleIsbn(i));
  await using service = await hostileService({
    content: booksContent({}),
    answers: [],
    answerTo: (_, body) => lieTo(isbns.indexOf(body.replace(/^isbns=/, ''))),
    limit: 5,
    windowMs: 1_000,
    foreign: undefined,
    headers: 'none',
  });
  const records = await fuzzedRun({
    service,
    pipeline: () => books({ ...http, baseUrl: service.url, plan: 'pro', key: SECRET, maxBatch: 1, isbns }),
    topics: ['books.records', 'books.missing', 'books.dead-letters'],
    enqueue: [],
    secrets: [SECRET],
    stops: [],
    answers: 0,
    limit: 5,
    windowMs: 1_000,
  });
  const ended = records.map(({ topic, value }) => {
    const { isbn, isbns: [only] = [] } = (value['request'] ?? value) as { isbn?: string; isbns?: string[] };
    return `${topic === 'books.dead-letters' ? 'lied to' : 'answered'} ${isbn ?? only}`;
  });
  expect(ended.toSorted()).toEqual(isbns.map((isbn, i) => `${lieTo(i) === undefined ? 'answered' : 'lied to'} ${isbn}`).toSorted());
});
