import { start } from '@headgate/pipeline';
import { expect, it } from 'vitest';
import { type Api, startApi } from './api.fixture.ts';
import { type Section, bearer } from './list.fixture.ts';
import { rest } from './rest.ts';
import { sharedLog } from './shared-log.fixture.ts';

const shareOfLog = sharedLog();
type Stream = NonNullable<Section['streams']>[string];

const ISSUES: Stream = { get: '/issues/{repo}', for: { repo: ['a', 'b', 'c', 'd'] }, key: '$.id', compact: true };

/** A service whose lists all have the same ten records, each time in another version. */
async function versions(): Promise<Api> {
  let version = 0;
  return await startApi({
    routes: {
      'GET /issues/{repo}': () => {
        version += 1;
        return { body: Array.from({ length: 10 }, (_, id) => ({ id, version })) };
      },
    },
  });
}

function place(api: Api) {
  const share = shareOfLog();
  const topic = `${share.topics.prefix}tracker.issues`;
  return {
    topic,
    log: share.log,
    run: async (issues: Stream, more: Partial<Section> = {}, lanes = 1): Promise<void> => {
      const pipeline = rest('tracker')({ ...bearer, baseUrl: api.url, ...more, streams: { issues } });
      await using running = await start({ ...share, lanes, pipelines: [pipeline] });
      const { failures } = await running.done;
      expect(failures).toEqual([]);
    },
    read: async () =>
      await Array.fromAsync(
        share.log.read({ topic }),
        ({ key, value }) => [key, (JSON.parse(value ?? '') as { version: number }).version] as const,
      ),
  };
}

const newest = (version: number): unknown => Array.from({ length: 10 }, (_, id) => [String(id), version]);

it('keeps the newest record of each key, also if lists in several lanes have it', async () => {
  await using api = await versions();
  const { topic, log, run, read } = place(api);
  const credentials = ['one', 'two', 'three'].map((name) => ({ name, bearer: name }));
  await run(ISSUES, { credentials }, 3);
  const [info] = await log.listTopics([topic]);
  expect(info).toMatchObject({ compacted: true, partitions: 1, offsets: [{ end: 40 }] });
  const read40 = await read();
  expect(read40.map(([key]) => key).toSorted()).toEqual(Array.from({ length: 10 }, (_, id) => String(id)));
});

it('replaces the records of earlier runs, and of keys in several partitions', async () => {
  await using api = await versions();
  const { run, read, topic, log } = place(api);
  const once: Stream = { ...ISSUES, for: { repo: ['a'] }, partitions: 3 };
  await run(once);
  await run(once, { every: 1 });
  const [info] = await log.listTopics([topic]);
  expect(info?.partitions).toBe(3);
  expect(info?.offsets.every(({ end }) => end > 0)).toBe(true);
  const versionsOf = new Map(await read());
  expect([...versionsOf].toSorted(([one], [other]) => Number(one) - Number(other))).toEqual(newest(2));
  expect(await read()).toHaveLength(10);
});

it.each<readonly [first: Partial<Stream>, then: Partial<Stream>, words: RegExp]>([
  [{ compact: false }, {}, /"\S+tracker\.issues" is not compacted and can't be changed\. Use another topic name or another log\./],
  [{}, { compact: false }, /"\S+tracker\.issues" is compacted and can't be changed\./],
  [{}, { partitions: 2 }, /has one partition, but 2 are configured\. In a compacted topic, that number can't change/],
  [{ partitions: 3 }, { partitions: 2 }, /has 3 partitions, but 2 are configured\. .* Configure 3, or use another topic\./],
])('with %j before, %j is refused before a request is sent', async (first, then, words) => {
  await using api = await versions();
  const { run } = place(api);
  await run({ ...ISSUES, ...first });
  const before = api.requests();
  await expect(run({ ...ISSUES, ...then }, { every: 1 })).rejects.toThrow(words);
  expect(api.requests()).toBe(before);
});

it.each<readonly [issues: object, other: object | undefined, words: string | undefined]>([
  [
    { key: undefined },
    undefined,
    'streams.issues.compact: keeps the newest record of each key, and these have none. Write key, such as $.id.',
  ],
  [{ key: '{repo}' }, undefined, undefined],
  [{ key: undefined, compact: false }, undefined, undefined],
  [{}, { compact: true }, undefined],
  [{}, {}, 'streams.issues.to: names the topic of other. Write the same compact and partitions in both streams.'],
  [{ compact: false, partitions: 2 }, {}, 'streams.issues.to: names the topic of other.'],
])('%j beside %j in the same topic: %s', (issues, other, words) => {
  const given = JSON.parse(
    JSON.stringify({
      issues: { ...ISSUES, ...issues, ...(other && { to: 'issues' }) },
      ...(other && { other: { get: '/other', key: '$.id', to: 'issues', ...other } }),
    }),
  ) as Section['streams'];
  let flaw: unknown;
  try {
    rest('tracker')({ ...bearer, baseUrl: 'http://127.0.0.1:1', streams: given });
  } catch (error) {
    flaw = String(error);
  }
  expect(String(flaw)).toContain(words ?? 'undefined');
});
