import kafkajs, { type Admin } from 'kafkajs';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it, inject } from 'vitest';
import { TopicLostError, TopicMismatchError, TopicUnknownError } from '../../topic-errors.ts';
import type { NewTopicSpec, TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { createTopics, plainKafka } from './committed-records.fixture.ts';
import { plainCluster } from '../client/plain-cluster.fixture.ts';
import { StatePartition } from '../lane/state-partition.ts';
import { partitionKey } from '../../topic-partition.ts';
import { newPages } from './pages.fixture.ts';

const { why, ...broker } = inject('kafkaBroker');
const because = why === undefined ? '' : ` (skipped: ${why})`;
const OWN = randomUUID();

describe.skipIf(why !== undefined)(`topics that others created or deleted${because}`, () => {
  let log: TopicLog;
  let admin: Admin;
  beforeAll(async () => {
    log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    admin = plainKafka(broker.brokers).admin();
    await admin.connect();
  });
  afterAll(async () => {
    await Promise.allSettled([admin.disconnect(), log.close()]);
  });

  async function made(name: string, settings: Readonly<Record<string, string>>, numPartitions = 1): Promise<void> {
    const configEntries = Object.entries(settings).map(([key, value]) => ({ name: key, value }));
    await createTopics(admin, [{ topic: name, numPartitions, configEntries }]);
  }

  /**
   * True after the leader has created the partition of a recreated topic and no longer serves the old one. Its end is then 0, or 1 if the
   * coordinator of the last transaction writes its end marker only now, by the topic's name.
   */
  async function isServedAnew(name: string): Promise<boolean> {
    const [found] = await admin.fetchTopicOffsets(name);
    return ['0', '1'].includes(found?.high ?? '');
  }

  /** Tries to create a deleted topic again, which a broker refuses for a moment. Resolves to whether it succeeded. */
  async function madeAnew(name: string, settings: Readonly<Record<string, string>>): Promise<boolean> {
    return await made(name, settings).then(
      () => true,
      () => sleep(50, false),
    );
  }

  it.for<{ what: string; settings: Record<string, string>; spec?: Partial<NewTopicSpec>; says: RegExp }>([
    {
      what: 'state that retention deletes from',
      settings: { 'cleanup.policy': 'compact,delete', 'message.timestamp.type': 'LogAppendTime' },
      spec: { compacted: true },
      says: /cleanup\.policy=compact,delete, but needs compact alone/u,
    },
    {
      what: 'more copies in sync than there are',
      settings: { 'min.insync.replicas': '2' },
      says: /min\.insync\.replicas=2 and one replica/u,
    },
    {
      what: 'room for less than the least record',
      settings: { 'max.message.bytes': '1000' },
      spec: { minRecordBytes: 10_000 },
      says: /max\.message\.bytes=1000, but needs at least 10228/u,
    },
    {
      what: 'a limit that refuses timestamps of a moment ago',
      settings: { 'message.timestamp.before.max.ms': '1' },
      says: /message\.timestamp\.before\.max\.ms=1, so brokers may refuse records/u,
    },
  ])(
    '$what is refused, also with validateOnly, and accepted with the settings that the error names',
    async ({ what, settings, spec, says }, { expect }) => {
      const name = `${what.replaceAll(' ', '-')}-${OWN}`;
      await made(name, settings);
      for (const validateOnly of [true, false]) {
        const refused = log.createTopics([{ name, partitions: 1, ...spec }], { validateOnly });
        await expect(refused).rejects.toThrow(TopicMismatchError);
        await expect(refused).rejects.toThrow(says);
      }
      const create = (): Promise<unknown> => log.createTopics([{ name, partitions: 1, ...spec }]);
      const error: unknown = await create().catch((refusal: unknown) => refusal);
      const wanted = error instanceof TopicMismatchError ? error.mismatches.flatMap((one) => Object.entries(one.settings ?? {})) : [];
      const configEntries = Object.entries({ ...settings, ...Object.fromEntries(wanted) }).map(([key, value]) => ({ name: key, value }));
      await admin.alterConfigs({ validateOnly: false, resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name, configEntries }] });
      await expect.poll(create).toMatchObject({ created: [] });
    },
  );

  it('all mismatches are reported at once, one per line', async ({ expect }) => {
    await made(`large-${OWN}`, { 'max.message.bytes': '1000' }, 3);
    await made(`larger-${OWN}`, {}, 4);
    const refused = log.createTopics([
      { name: `large-${OWN}`, partitions: 1, minRecordBytes: 2_000 },
      { name: `larger-${OWN}`, partitions: 2 },
    ]);
    await expect(refused).rejects.toThrow(
      /^Topic "large-\S+ has 3 part.*\nTopic "large-\S+ has max\.mess.*\nTopic "larger-\S+ has 4 part/u,
    );
  });

  it('a raised max.message.bytes applies to logs that are opened later', async ({ expect }) => {
    const topic = `written-${OWN}`;
    const append = (to: TopicLog): Promise<number | string> =>
      to.append([{ topic, key: 'k', value: 'x'.repeat(30_000) }]).then(
        (positions) => positions.length,
        (error: Error) => error.message,
      );
    await made(topic, { 'max.message.bytes': '20000' });
    expect(await append(log)).toMatch(/max\.message\.bytes of 20000\. Raise it on the topic to at least 30/u);
    const configEntries = [{ name: 'max.message.bytes', value: '40000' }];
    await admin.alterConfigs({ validateOnly: false, resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries }] });
    await expect
      .poll(async () => {
        await using later = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
        return [await append(later), (await later.recordLimit(topic)).setting?.value];
      })
      .toEqual([1, 40_000]);
  });

  it('a topic gets the settings that are configured for it, and a warning later if it has others', async ({ expect }) => {
    const name = `kept-${OWN}`;
    const logWith = async (settings: Readonly<Record<string, string>>) =>
      await kafkaTopicLog({ brokers: broker.brokers, replication: 1, topicSettings: { [name]: settings, other: { 'retention.ms': '1' } } });
    await using first = await logWith({ 'retention.ms': '7200000', 'segment.ms': '3600000' });
    await first.createTopics([{ name, partitions: 1 }]);
    const found = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames: ['retention.ms', 'segment.ms', 'max.message.bytes'] }],
    });
    const entries = found.resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]) ?? [];
    expect(Object.fromEntries(entries)).toEqual({ 'retention.ms': '7200000', 'segment.ms': '3600000', 'max.message.bytes': '8388608' });
    expect((await first.createTopics([{ name, partitions: 1 }])).warnings).toEqual([]);
    await using second = await logWith({ 'retention.ms': '-1', 'segment.ms': '3600000' });
    expect((await second.createTopics([{ name, partitions: 1 }], { validateOnly: true })).warnings).toEqual([
      `Topic "${name}" has retention.ms=7200000, but -1 is configured. Change it on the topic, or the configuration.`,
    ]);
  });

  it('a setting that brokers refuse is an error that names it, also with validateOnly', async ({ expect }) => {
    const name = `odd-${OWN}`;
    await using odd = await kafkaTopicLog({
      brokers: broker.brokers,
      replication: 1,
      topicSettings: { [name]: { 'retention.ms': 'week' } },
    });
    for (const validateOnly of [true, false]) {
      const refused = odd.createTopics([{ name, partitions: 1 }], { validateOnly });
      await expect(refused).rejects.toThrow(TopicMismatchError);
      await expect(refused).rejects.toThrow(/can't be created: .*retention\.ms/u);
    }
  });

  it.for([1, 3])(
    'a compacted topic of records keeps its 2 partitions, and is refused if %i are configured',
    async (partitions, { expect }) => {
      const name = `compacted-${partitions}-${OWN}`;
      const spec = { name, compacted: true, fixedPartitions: true };
      await log.createTopics([{ ...spec, partitions: 2 }]);
      const [found] = await log.listTopics([name]);
      expect(found).toMatchObject({ compacted: true, partitions: 2 });
      expect((await log.recordLimit(name)).setting?.value).toBe(8_388_608);
      for (const validateOnly of [true, false]) {
        const refused = log.createTopics([{ ...spec, partitions }], { validateOnly });
        await expect(refused).rejects.toThrow(
          `has 2 partitions, but ${partitions} are configured. In a compacted topic, that number can't change`,
        );
      }
      expect((await log.listTopics([name]))[0]?.partitions).toBe(2);
    },
  );

  it('more partitions are accepted with a warning if each record names its partition', async ({ expect }) => {
    const name = `spare-${OWN}`;
    await made(name, {}, 6);
    const { warnings } = await log.createTopics([{ name, partitions: 3, namesPartitions: true }]);
    expect(warnings).toEqual([expect.stringMatching(/^Topic "spare-\S+ has 6 partitions, but records go only to partitions 0 to 2\./u)]);
  });

  it('an existing topic with fewer replicas than specified, or a smaller limit than usual records need, is accepted with a warning', async ({
    expect,
  }) => {
    await using demanding = await kafkaTopicLog({ brokers: broker.brokers, replication: 3 });
    await made(`small-${OWN}`, { 'max.message.bytes': '20000' });
    await made(`single-${OWN}`, {});
    const { warnings } = await demanding.createTopics([
      { name: `small-${OWN}`, partitions: 1, usualRecordBytes: 150_000 },
      { name: `single-${OWN}`, partitions: 1 },
    ]);
    expect(warnings).toEqual([
      expect.stringMatching(/^Each of the topics "small-\S+, "single-\S+ has one replica, but topics\.replication is 3/u),
      expect.stringMatching(/^Topic "small-\S+ has max\.message\.bytes=20000, but its usual records may need 151642/u),
    ]);
  });

  it('a state topic from which brokers have deleted records is accepted with a warning', async ({ expect }) => {
    const name = `cut-${OWN}`;
    const settings = { 'cleanup.policy': 'compact,delete', 'message.timestamp.type': 'LogAppendTime' };
    await made(name, settings, 2);
    await log.append(['a', 'b'].map((key) => ({ topic: name, partition: 1, key, value: '1' })));
    await admin.fetchTopicOffsets(name);
    // Brokers refuse the deletion until the end marker is in the partition.
    const remove = (): Promise<boolean> =>
      admin.deleteTopicRecords({ topic: name, partitions: [{ partition: 1, offset: '1' }] }).then(
        () => true,
        () => false,
      );
    await expect.poll(remove).toBe(true);
    const configEntries = Object.entries({ ...settings, 'cleanup.policy': 'compact' }).map(([key, value]) => ({ name: key, value }));
    await admin.alterConfigs({ validateOnly: false, resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name, configEntries }] });
    const create = (): Promise<unknown> => log.createTopics([{ name, partitions: 2, compacted: true }], { validateOnly: true });
    await expect.poll(create).toMatchObject({ warnings: [expect.stringMatching(/^Topic "cut-\S+ starts at offset 1 in partition 1: /u)] });
    // A compacted topic of records could have had retention before.
    const ofRecords = await log.createTopics([{ name, partitions: 2, compacted: true, fixedPartitions: true }], { validateOnly: true });
    expect(ofRecords.warnings).toEqual([]);
  });

  it('a lane whose state is deleted ends with an error that says so', async ({ expect }) => {
    const pages = await newPages(log);
    const writer = await log.openLane(pages.lane);
    await pages.write(writer, 2);
    await admin.deleteTopics({ topics: [pages.lane.state.topic] });
    // The leader may learn of the deletion later than the controller.
    await expect.poll(() => pages.write(writer).catch((error: unknown) => error)).toBeInstanceOf(TopicUnknownError);
    await writer.close();
  });

  it.for([0, 1])('a lane whose records topic is recreated, with %i records of others, commits nothing more', async (count, { expect }) => {
    const pages = await newPages(log, { partitions: 1 });
    const writer = await log.openLane(pages.lane);
    await pages.write(writer, 2);
    await admin.deleteTopics({ topics: [pages.topic] });
    await expect.poll(() => madeAnew(pages.topic, {})).toBe(true);
    await expect.poll(() => isServedAnew(pages.topic)).toBe(true);
    await log.append(Array.from({ length: count }, () => ({ topic: pages.topic, key: 'other', value: '1' })));
    for (let again = 0; again < 3; again += 1) await expect(pages.write(writer)).rejects.toThrow(TopicLostError);
    await writer.close();
    expect((await log.readState(pages.lane.state.topic, 0)).get('page')).toBe('1');
  });

  it('a lane whose state topic is recreated commits nothing more', async ({ expect }) => {
    const pages = await newPages(log);
    const { topic } = pages.lane.state;
    const writer = await log.openLane(pages.lane);
    await pages.write(writer, 2);
    await admin.deleteTopics({ topics: [topic] });
    const settings = { 'cleanup.policy': 'compact', 'message.timestamp.type': 'LogAppendTime' };
    await expect.poll(() => madeAnew(topic, settings)).toBe(true);
    await expect.poll(() => isServedAnew(topic)).toBe(true);
    for (let again = 0; again < 3; again += 1) await expect(pages.write(writer)).rejects.toThrow(TopicLostError);
    await writer.close();
    expect((await log.readState(topic, 0)).get('page')).toBeUndefined();
    expect(await log.groupOffset({ group: pages.group, topic: `${pages.lane.name}.requests`, partition: 0 })).toBe(2);
  });

  it('an append to a deleted topic reports it', async ({ expect }) => {
    const { topic } = await newPages(log);
    await log.append([{ topic, key: 'a', value: '1' }]);
    await admin.deleteTopics({ topics: [topic] });
    await expect(log.append([{ topic, key: 'a', value: '2' }])).rejects.toThrow(TopicUnknownError);
  });

  it('state that ends before its former end is reported as lost', async ({ expect }) => {
    const pages = await newPages(log);
    const writer = await log.openLane(pages.lane);
    await pages.write(writer, 2);
    const cluster = plainCluster(broker.brokers);
    const state = new StatePartition(pages.lane.state);
    await state.readToEnd(cluster);
    expect(state.entries.get('page')?.value).toBe('1');
    const exchange = cluster.exchange.bind(cluster);
    cluster.exchange = async (broker, request, options) => {
      const answered = await exchange(broker, request, options);
      return request.api === 'ListOffsets'
        ? { ...answered, answer: new Map([[partitionKey(pages.lane.state), 1_000]]) as never }
        : answered;
    };
    await expect(state.readToEnd(cluster)).rejects.toThrow(TopicLostError);
    cluster.exchange = exchange;
    await writer.close();

    const { topic } = pages.lane.state;
    await admin.deleteTopics({ topics: [topic] });
    await expect.poll(() => madeAnew(topic, { 'cleanup.policy': 'compact' })).toBe(true);
    await expect.poll(() => isServedAnew(topic)).toBe(true);
    cluster.forget();
    await expect(state.readToEnd(cluster)).rejects.toThrow(TopicLostError);
    await expect(state.readUntil(cluster, () => false)).rejects.toThrow(TopicLostError);
    cluster.close();
  });
});
