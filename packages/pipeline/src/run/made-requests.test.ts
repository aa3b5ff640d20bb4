import { type TopicLog, partitionForKey } from '@headgate/topics';
import { describe, expect, it, test } from 'vitest';
import { topicNames } from '../topics/names.ts';
import { replayDeadLetters } from './replay.ts';
import { shelfPaging, shelves, shelvesApi, valuesOf, workedOff } from '../testing/shelves.fixture.ts';
import { start } from './start.ts';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';
import { tree, treeService } from '../testing/family.fixture.ts';
import { topicSpecs } from '../topics/topics.ts';
import { walk } from '../jobs/walk.ts';

interface Options {
  readonly log: TopicLog;
  readonly baseUrl: string;
  readonly roots: readonly string[];
  readonly lanes?: number;
  readonly child?: (name: string) => unknown;
}

/** Appends the roots of families, and runs the pipeline until all members are done. */
async function worked({ log, baseUrl, roots, lanes = 1, child }: Options): Promise<void> {
  const pipeline = tree(child)({ baseUrl });
  await log.createTopics(topicSpecs([pipeline], { lanes, names: topicNames() }));
  await log.append(roots.map((name) => ({ topic: 'tree.requests', ...pipeline.requests.keyed({ name }) })));
  await using running = await start({ log, pipelines: [pipeline], lanes, validate: true });
  expect(await running.done).toMatchObject({ outcome: 'done', failures: [] });
}

const membersOf = async (log: TopicLog): Promise<string[]> =>
  (await valuesOf<{ name: string; page: number }>(log, 'tree.members')).map(({ name, page }) => `${name}/${page}`).toSorted();

describe('a request that a page makes', () => {
  it('is processed by the same run, and so are those that its pages make', async () => {
    await using place = await temporaryLog();
    await using service = await treeService(['a']);
    await worked({ log: place.log, baseUrl: service.url, roots: ['a'] });
    const all = ['a/1', 'a/2', 'a.1/1', 'a.1/2', 'a.2/1', 'a.2/2', 'a.1.1/1', 'a.1.2/1', 'a.2.1/1', 'a.2.2/1', 'a.of.both/1'];
    expect(await membersOf(place.log)).toEqual(all.toSorted());
    const ids = (await Array.fromAsync(place.log.read({ topic: 'tree.requests' }))).map(({ headers }) => headers['ce_id']);
    expect(ids.slice(0, 2)).toEqual([undefined, 'tree.requests-0-0/1']);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each([[undefined], [null], ['a text'], [{}], [{ name: '' }], [{ name: 7 }], [[1]]])(
    'is a separate dead letter if it is invalid, and its page continues: %j',
    async (bad) => {
      await using place = await temporaryLog();
      await using service = await treeService(['a']);
      const child = (name: string): unknown => (name.endsWith('2') ? bad : { name });
      await worked({ log: place.log, baseUrl: service.url, roots: ['a'], child });
      expect(await membersOf(place.log)).toEqual(['a.1.1/1', 'a.1/1', 'a.1/2', 'a.of.both/1', 'a/1', 'a/2']);
      const malformed = { request: bad ?? null, error: { code: 'HEADGATE_MALFORMED_REQUEST' } };
      expect(await valuesOf(place.log, 'tree.dead-letters')).toMatchObject([malformed, malformed]);
    },
  );

  it.each<[name: string, child: () => unknown, says: RegExp]>([
    ['a promise', () => Promise.reject(new Error('too late')), /topics\.requests got a promise/],
    ['what JSON can not hold', () => ({ name: 1n }), /records of pipeline tree threw TypeError: Do not know how to serialize a BigInt/],
  ])('ends its page if it is %s', async (_, child, says) => {
    await using place = await temporaryLog();
    await using service = await treeService(['a']);
    await worked({ log: place.log, baseUrl: service.url, roots: ['a'], child });
    expect(await valuesOf(place.log, 'tree.dead-letters')).toMatchObject([
      { request: { name: 'a' }, error: { message: expect.stringMatching(says) } },
    ]);
  });

  it('stays in the lane of its root, whatever its key is, and does so when its dead letter is replayed', async () => {
    await using place = await temporaryLog();
    const { log } = place;
    const laneOf = (name: string): number => partitionForKey(name, 2);
    const [one = '', other = ''] = [0, 1].map((lane) => ['a', 'b', 'c', 'd', 'e', 'f'].find((name) => laneOf(name) === lane));
    // This child's own key belongs to the other lane.
    const stray = ['gone', 'left', 'away', 'lost', 'far'].find((name) => laneOf(name) !== laneOf(one)) ?? '';
    expect(stray).not.toBe('');
    const where = async (): Promise<Map<string, number>> => {
      const found = new Map<string, number>();
      for await (const { key, partition } of log.read({ topic: 'tree.requests' })) {
        expect([undefined, partition]).toContain(found.get(key ?? ''));
        found.set(key ?? '', partition);
      }
      return found;
    };
    {
      // The service doesn't know `stray`, so that request becomes a dead letter.
      await using service = await treeService([one, other]);
      const child = (name: string): unknown => ({ name: name === `${one}.1` ? stray : name });
      await worked({ log, baseUrl: service.url, roots: [one, other], lanes: 2, child });
    }
    const before = await where();
    expect(before.size).toBeGreaterThan(10);
    for (const [name, lane] of before) expect([name, lane]).toEqual([name, laneOf(name === stray ? one : (name.split('.')[0] ?? ''))]);
    const [deadLetter] = await Array.fromAsync(log.read({ topic: 'tree.dead-letters' }));
    expect([deadLetter?.key, deadLetter?.partition]).toEqual([stray, laneOf(one)]);
    await replayDeadLetters({ log, requests: tree().definition.requests });
    await using service = await treeService([stray]);
    await worked({ log, baseUrl: service.url, roots: [], lanes: 2 });
    expect((await where()).get(stray)).toBe(laneOf(one));
    expect((await membersOf(log)).filter((member) => member.startsWith(stray))).toHaveLength(11);
  });
});

test.each([
  [false, 'stopped', 12],
  [true, 'done', 4],
])('a family that leads back to its root, with once: %s, is %s after %s pages', async (once, outcome, pages) => {
  await using place = await temporaryLog();
  const { log } = place;
  await using service = await treeService(['a']);
  const pipeline = tree(() => ({ name: 'a' }), { once })({ baseUrl: service.url });
  await log.createTopics(topicSpecs([pipeline], { lanes: 1, names: topicNames() }));
  await log.append([{ topic: 'tree.requests', ...pipeline.requests.keyed({ name: 'a' }) }]);
  const running = await start({ log, pipelines: [pipeline], maxRequests: 12 });
  expect((await running.done).outcome).toBe(outcome);
  const members = await membersOf(log);
  expect(members).toHaveLength(pages);
  expect(new Set(members)).toEqual(new Set(['a/1', 'a/2']));
});

test('a pipeline without makesRequests creates no requests', async () => {
  await using place = await temporaryLog();
  const pipeline = shelves(() =>
    walk({ source: shelvesApi(), paging: shelfPaging, records: (page, { topics }) => [topics.requests({ shelf: `${page.shelf}+` })] }),
  );
  expect(await workedOff(place.log, pipeline, ['a'])).toMatchObject({ outcome: 'done', failures: [] });
  expect(await valuesOf(place.log, 'shelves.dead-letters')).toMatchObject([
    { request: { shelf: 'a' }, error: { code: 'HEADGATE_DEFINITION', message: expect.stringContaining('`makesRequests: true`') } },
  ]);
  expect(await valuesOf(place.log, 'shelves.requests')).toHaveLength(1);
});
