import { sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import { InvalidRecordError, type LaneWriter, type NewRecord, type RecordSeries, type TopicLog } from '@headgate/topics';
import { expect, it } from 'vitest';
import { logWith } from '../run/log-with.fixture.ts';
import { followersYaml } from './headgate-process.fixture.ts';
import { type InProcess, inProcess } from './in-process.fixture.ts';

it('a record larger than its topic accepts becomes a dead letter that says so; the others are written, and the next run under a higher limit writes it', async () => {
  await using followers = await startFollowers({ users: { big: { followers: 100 }, small: { followers: 3 } } });
  await using books = await startBooks();
  /** Maximum bytes of a record, by topic. */
  const room = new Map([
    ['followers.pages', 1_000],
    ['books.records', 100],
    ['books.authors', 100],
  ]);
  await using place = await inProcess({
    around: (log) => logWith(log, { recordLimit: async (topic) => ({ bytes: room.get(topic) ?? (await log.recordLimit(topic)).bytes }) }),
  });
  const yaml = `${followersYaml({ url: followers.url, users: ['big', 'small'] })}books:
  baseUrl: ${books.url}
  key: "\${KEY}"
  isbns: ["${sampleIsbn(1)}"]
  authors: [Ada]
`;
  expect(await place.start(yaml).ended).toEqual([]);
  expect(await written(place)).toEqual({ pagesOf: ['@small'], ids: 3, books: 0, authors: 0, dead: 3 });
  const tooLarge = (request: unknown, topic: string) => ({
    request,
    error: {
      code: 'HEADGATE_RECORD_TOO_LARGE',
      message: expect.stringContaining(`${topic} accepts at most ${room.get(topic)} bytes`) as string,
    },
  });
  expect(await place.values('followers.dead-letters')).toMatchObject([tooLarge({ screenName: 'big' }, 'followers.pages')]);
  expect((await place.values('books.dead-letters')).toSorted(byRequest)).toMatchObject([
    tooLarge({ author: 'Ada' }, 'books.authors'),
    tooLarge({ isbn: sampleIsbn(1) }, 'books.records'),
  ]);

  room.clear();
  for (const service of ['followers', 'books'] as const) {
    const requests = (await place.values(`${service}.dead-letters`)).map(({ request }) => JSON.stringify(request));
    await place.log.append(requests.map((value) => ({ topic: `${service}.requests`, key: null, value })));
  }
  expect(await place.start(yaml).ended).toEqual([]);
  expect(await written(place)).toEqual({ pagesOf: ['@small', '@big'], ids: 103, books: 1, authors: 2, dead: 3 });
});

it('a limit that is lowered during a run ends it; the next run makes a dead letter that names the page and the setting', async () => {
  const users = { big: { followers: 100, pageSize: 50 }, small: { followers: 3 } };
  await using followers = await startFollowers({ users });
  await using place = await inProcess({ around: shrinking });
  const yaml = followersYaml({ url: followers.url, users: ['big', 'small'], more: '  count: 50\n' });
  expect(await place.start(yaml).ended).toMatchObject([{ code: 'HEADGATE_INVALID_RECORD' }]);
  expect(await place.start(yaml).ended).toEqual([]);
  const message = expect.stringMatching(
    /^@big: page 1 needs \d{4} bytes, but followers\.pages accepts at most 1000 bytes\. Raise its room from 1000 to at least \d{4}, then restart the run and re-enqueue /u,
  ) as string;
  expect(await place.values('followers.dead-letters')).toMatchObject([{ request: { screenName: 'big' }, error: { message } }]);
  expect(await followersWritten(place)).toEqual({ pagesOf: ['@small'], ids: 3 });
});

/** A log whose pages topic accepts records of at most 1,000 bytes as soon as a lane has been opened. */
function shrinking(log: TopicLog): TopicLog {
  const topic = 'followers.pages';
  let bytes = 1_000_000;
  return logWith(log, {
    recordLimit: async (of) =>
      of === topic ? { bytes, setting: { name: 'room', value: bytes, neededFor: (needed) => needed } } : await log.recordLimit(of),
    async openLane(lane, signal) {
      const writer = await log.openLane(lane, signal);
      bytes = 1_000;
      return writerWith(writer, (record) => {
        if (record.topic === topic && 'value' in record && (record.value ?? '').length > bytes)
          throw new InvalidRecordError({ topic, reason: 'is larger than the topic takes.' });
      });
    },
  });
}

function writerWith(writer: LaneWriter, assertTaken: (record: NewRecord | RecordSeries) => void): LaneWriter {
  return {
    state: writer.state,
    transaction: (work) =>
      writer.transaction((tx) =>
        work({
          append(records) {
            for (const record of records) assertTaken(record);
            tx.append(records);
          },
          checkpoint: (key, state) => tx.checkpoint(key, state),
          commitOffset: (position) => tx.commitOffset(position),
        }),
      ),
    close: () => writer.close(),
    [Symbol.asyncDispose]: () => writer.close(),
  };
}

async function followersWritten(place: InProcess) {
  return {
    pagesOf: (await place.values('followers.pages')).map(({ user }) => user),
    ids: (await place.values('followers.ids')).length,
  };
}

async function written(place: InProcess) {
  return {
    ...(await followersWritten(place)),
    books: (await place.values('books.records')).length,
    authors: (await place.values('books.authors')).length,
    dead: (await place.values('followers.dead-letters')).length + (await place.values('books.dead-letters')).length,
  };
}

function byRequest(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): number {
  return JSON.stringify(one['request']).localeCompare(JSON.stringify(other['request']));
}
