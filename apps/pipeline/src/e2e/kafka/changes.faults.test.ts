import { setTimeout as sleep } from 'node:timers/promises';
import { startFollowers } from '@headgate/sandbox';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { describe, expect, it } from 'vitest';
import { exactIds, expectChanges } from '../changed-followers.fixture.ts';
import { committed } from './committed.fixture.ts';
import { plainKafka } from './kafkajs.fixture.ts';
import { BECAUSE, type KafkaPlace, WHY_NOT, kafkaPlace, kafkaYaml } from './kafka-place.fixture.ts';

const EMIT = '[pages, changes]';

describe.skipIf(WHY_NOT !== undefined)(`headgate run on Kafka, emit: ${EMIT}${BECAUSE}`, () => {
  it('writes each change once across a kill, and none if retention has deleted the earlier crawl', async () => {
    const before = exactIds({ from: 0, count: 60_000 });
    const after = exactIds({ from: 60_000, count: 60_000 });
    await using place = await kafkaPlace({ users: { alpha: { followers: before } }, emit: EMIT });
    const { brokers } = place.broker;
    expect((await place.fleet.start('run').ended).code).toBe(0);

    await using log = await kafkaTopicLog({ brokers });
    const end = async (topic: string): Promise<number> => (await log.listTopics([topic]))[0]?.offsets[0]?.end ?? 0;
    {
      await using service = await nowFollowing(place, after);
      const run = place.fleet.start('run');
      while ((await end('followers.changes')) < 5_000 && run.running) await sleep(1);
      run.signal('SIGKILL');
      await run.ended;
      expect(await end('followers.changes')).toBeLessThan(120_000);
      expect(await place.fleet.start('run').ended).toMatchObject({ code: 0 });
      expect(service.requests).toHaveLength(12);
    }
    const changes = await committed(brokers, 'followers.changes');
    expect(new Set(changes.map(({ key, partition }) => `${key} ${partition}`))).toEqual(new Set(['@alpha 0']));
    expectChanges(
      changes.map(({ value }) => JSON.parse(value ?? '') as unknown),
      { before, after },
    );

    await forget(brokers, 'followers.pages', await end('followers.pages'));
    {
      await using _ = await nowFollowing(place, before);
      const { code, stderr } = await place.fleet.start('run').ended;
      expect([code, stderr]).toEqual([
        0,
        expect.stringMatching(/@alpha: the comparison of its last two crawls was dropped .*"?Keep that topic/),
      ]);
    }
    expect(await committed(brokers, 'followers.changes')).toHaveLength(changes.length);
    {
      await using _ = await nowFollowing(place, before.slice(1));
      expect((await place.fleet.start('run').ended).code).toBe(0);
    }
    expect((await committed(brokers, 'followers.changes')).slice(changes.length).map(({ value }) => value)).toEqual([
      expect.stringContaining(`"change":"unfollowed","id":"${before[0]}"`),
    ]);
  });
});

/** Starts a service in which alpha has these followers, and adds a job for alpha. */
async function nowFollowing({ broker, work }: KafkaPlace, followers: readonly string[]) {
  const window = { kind: 'rolling', limit: 100_000, windowMs: 1_000 } as const;
  const service = await startFollowers({ users: { alpha: { followers } }, window });
  await work.write('headgate.yaml', kafkaYaml({ brokers: broker.brokers, url: service.url, window, emit: EMIT }));
  expect((await work.headgate('enqueue', 'followers', 'alpha')).code).toBe(0);
  return service;
}

/** Deletes the records before an offset, as retention does. */
async function forget(brokers: readonly string[], topic: string, before: number): Promise<void> {
  const admin = plainKafka(brokers).admin();
  await admin.connect();
  await admin.fetchTopicOffsets(topic);
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(before) }] });
  await admin.disconnect();
}
