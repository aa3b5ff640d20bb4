import { sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import { expect, it } from 'vitest';
import { logWith } from '../run/log-with.fixture.ts';
import { followersYaml } from './headgate-process.fixture.ts';
import { type InProcess, inProcess } from './in-process.fixture.ts';

it('a record larger than its topic takes is a dead letter that says so; the others are written, and it is with more room', async () => {
  await using followers = await startFollowers({ users: { big: { followers: 100 }, small: { followers: 3 } } });
  await using books = await startBooks();
  /** The most bytes that a topic takes of a record. */
  const room = new Map([
    ['followers.pages', 1_000],
    ['books.records', 100],
    ['books.authors', 100],
  ]);
  await using place = await inProcess({
    around: (log) => logWith(log, { maxRecordBytes: async (topic) => room.get(topic) ?? (await log.maxRecordBytes(topic)) }),
  });
  const yaml = `${followersYaml({ url: followers.url, users: ['big', 'small'] })}books:
  baseUrl: ${books.url}
  key: "\${KEY}"
  isbns: ["${sampleIsbn(1)}"]
  authors: [Ada]
`;
  expect(await place.start(yaml).ended).toEqual([]);
  const tooLarge = (request: unknown, topic: string) => ({
    request,
    error: { code: 'HEADGATE_RECORD_TOO_LARGE', message: expect.stringContaining(`${topic} takes (${room.get(topic)} bytes)`) as string },
  });
  expect(await place.values('followers.dead-letters')).toMatchObject([tooLarge({ screenName: 'big' }, 'followers.pages')]);
  expect((await place.values('books.dead-letters')).toSorted(byRequest)).toMatchObject([
    tooLarge({ author: 'Ada' }, 'books.authors'),
    tooLarge({ isbn: sampleIsbn(1) }, 'books.records'),
  ]);
  expect(await written(place)).toEqual({ pagesOf: ['@small'], ids: 3, books: 0, authors: 0 });

  room.clear();
  for (const service of ['followers', 'books'] as const) {
    const requests = (await place.values(`${service}.dead-letters`)).map(({ request }) => JSON.stringify(request));
    await place.log.append(requests.map((value) => ({ topic: `${service}.requests`, key: null, value })));
  }
  expect(await place.start(yaml).ended).toEqual([]);
  expect(await written(place)).toEqual({ pagesOf: ['@small', '@big'], ids: 103, books: 1, authors: 1 });
});

async function written(place: InProcess) {
  return {
    pagesOf: (await place.values('followers.pages')).map(({ user }) => user),
    ids: (await place.values('followers.ids')).length,
    books: (await place.values('books.records')).length,
    authors: (await place.values('books.authors')).length,
  };
}

function byRequest(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): number {
  return JSON.stringify(one['request']).localeCompare(JSON.stringify(other['request']));
}
