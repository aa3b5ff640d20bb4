import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sampleIsbn, startFollowers } from '@headgate/sandbox';
import { partitionForKey } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { describe, expect, it } from 'vitest';
import { embeddedLog } from './embedded-log.fixture.ts';
import { followersYaml, workplace } from './headgate-process.fixture.ts';

const FREELY = { window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 } } as const;

describe('headgate plan', () => {
  it('only reads: it plans without a log, and adds nothing to an existing one', async () => {
    const config = followersYaml({ url: 'http://127.0.0.1:9', users: ['a', 'b'] });
    await using place = await workplace(config);
    const users = async (): Promise<string[]> => {
      const { code, stdout, stderr } = await place.headgate('plan', '--json');
      expect([code, stderr]).toEqual([0, '']);
      return walksOf(stdout).map(({ key }) => key);
    };
    expect(await users()).toEqual(['@a', '@b']);
    expect((await place.headgate('plan')).stdout).toMatch(
      /@b +from the start +\? +app +\(size not known[^]*all of followers +at least +2 +app\nfollowers: at most 500 M ids a second\.$/mu,
    );
    expect(await readdir(place.folder)).toEqual(['headgate.yaml']);

    await using log = await sqliteTopicLog({ file: join(place.folder, 'headgate.db') });
    await log.createTopics([{ name: 'followers.requests', partitions: 1 }]);
    await log.append([{ topic: 'followers.requests', key: '@c', value: '{"screenName":"c"}' }]);
    const before = await log.listTopics();
    expect(await users()).toEqual(['@c', '@a', '@b']);
    // The log doesn't have the second lane yet.
    const twoLanes = config
      .replace('headgate.db }', 'headgate.db, lanes: 2 }')
      .replace('- {', '- { name: other, bearer: "${KEY}" }\n    - {');
    await place.write('headgate.yaml', twoLanes);
    expect((await users()).toSorted()).toEqual(['@a', '@b', '@c']);
    expect(await log.listTopics()).toEqual(before);
  });

  it('subtracts the used part of a budget', async () => {
    await using service = await startFollowers({ ...FREELY, users: { a: { followers: 20, pageSize: 10 } } });
    const more = '  count: 10\n';
    await using place = await workplace(followersYaml({ url: service.url, users: ['a'], limit: '{ requests: 3, window: 15m }', more }));
    expect((await place.headgate('plan')).stdout).toContain('(size not known yet)');
    expect((await place.headgate('run')).code).toBe(0);
    await place.headgate('enqueue', 'followers', 'a');
    const { stdout } = await place.headgate('plan');
    expect(stdout).toMatch(
      /@a +from the start +2 +app +\(if it is as long as last time\)\nall of followers +2 +app +in (15 m|14 m \d+ s),/u,
    );
  });

  it('takes the quota of a day into account', async () => {
    await using place = await workplace(`topics: { driver: sqlite, file: ./headgate.db }
books:
  baseUrl: http://127.0.0.1:9
  key: "\${KEY}"
  perDay: { isbns: 100 }
`);
    const input = Array.from({ length: 1_000 }, (_, i) => sampleIsbn(i)).join('\n');
    await place.headgateWith({ input }, 'enqueue', 'books', '-');
    const { stdout } = await place.headgate('plan');
    expect(stdout).toMatch(/books keys +1,000 in batches of 100 +10 +key +in (9 d|8 d(?: \d+ h)?),/u);
  });

  it('gives a crawl the credentials of its lane only', async () => {
    const secrets = { zero: 'TOKEN', one: 'KEY', two: 'CONSUMER_SECRET', three: 'TOKEN_SECRET' };
    await using place = await workplace(`topics: { driver: sqlite, file: ./headgate.db, lanes: 4 }
followers:
  baseUrl: http://127.0.0.1:9
  credentials: [${Object.entries(secrets)
    .map(([name, variable]) => `{ name: ${name}, bearer: "\${${variable}}" }`)
    .join(', ')}]
  users: [alpha, beta]
`);
    const lanes = { alpha: partitionForKey('@alpha', 4), beta: partitionForKey('@beta', 4) };
    await place.headgate('enqueue', 'followers', 'alpha');
    const planned = walksOf((await place.headgate('plan', '--json')).stdout)
      .map(({ key, lane }) => `${key} ${lane}`)
      .sort();
    expect(planned).toEqual([`@alpha ${lanes.alpha}`, `@alpha ${lanes.alpha}`, `@beta ${lanes.beta}`]);
    const names = Object.keys(secrets);
    expect((await place.headgate('plan')).stdout).toMatch(
      new RegExp(`@beta +from the start +\\? +${names[lanes.beta]} +\\(size not known`, 'u'),
    );
  });

  it('ignores partial crawls and other clients’ records when it estimates the size of a user', async () => {
    await using service = await startFollowers({ ...FREELY, users: { a: { followers: 50, pageSize: 10 } } });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a'], more: '  count: 10\n' }));
    expect((await place.headgate('run')).code).toBe(0);
    const cursor = service.requests.at(-1)?.cursor;
    const job = { topic: 'followers.requests', key: '@a', value: JSON.stringify({ screenName: 'a', cursor }) };
    const size = async (): Promise<unknown> => walksOf((await place.headgate('plan', '--json')).stdout);
    {
      await using log = await embeddedLog(place);
      const values = [null, 'not json', '7', '{"user":"@a"}', '{"user":"@a","crawl":"mine","state":"completed","pages":9,"ids":9}'];
      await log.append([job, ...values.map((value) => ({ topic: 'followers.crawls', key: '@a', value }))]);
    }
    expect(await size()).toEqual([
      { key: '@a', request: { screenName: 'a', cursor }, page: 1, lane: 0, whole: false, credentials: ['app'] },
    ]);
    expect((await place.headgate('plan')).stdout).toMatch(/@a +a part +\?/u);
    expect((await place.headgate('run')).code).toBe(0);
    await place.headgate('enqueue', 'followers', 'a');
    expect(await size()).toMatchObject([{ key: '@a', request: { screenName: 'a' }, page: 1, lane: 0, pages: 5, requests: 5 }]);
  });
});

interface PlannedWalk {
  readonly key: string;
  readonly lane: number;
}

function walksOf(plan: string): readonly PlannedWalk[] {
  return (JSON.parse(plan) as { readonly pipelines: readonly { readonly walks: readonly PlannedWalk[] }[] }).pipelines.flatMap(
    ({ walks }) => walks,
  );
}
