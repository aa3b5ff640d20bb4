import type { Admin } from 'kafkajs';
import { randomUUID } from 'node:crypto';
import { type ExpectStatic, afterAll, beforeAll, describe, inject, it } from 'vitest';
import { TopicUnknownError } from '../../topic-errors.ts';
import type { LaneTransaction, LaneWriter, TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import type { Metadata } from '../requests/topics.ts';
import { createTopics, plainKafka } from './committed-records.fixture.ts';
import { forgeAnswers, forgetForgeries } from './forged-answers.fixture.ts';

const { why, ...broker } = inject('kafkaBroker');
const because = why === undefined ? '' : ` (skipped: ${why})`;
/** UNKNOWN_TOPIC_OR_PARTITION. */
const UNKNOWN = 3;
const OWN = randomUUID();
forgetForgeries();

describe.skipIf(why !== undefined)(`topics a broker does not know${because}`, () => {
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

  async function made(topic: string): Promise<void> {
    // Don't wait for the leaders here: waiting is the driver's task under test, and kafkajs gives up if the broker doesn't know the topic yet.
    await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false });
  }

  /** Makes the first response that has `topic` call it unknown, as from a broker that lags behind. The returned function counts these responses. */
  function forgeUnknown(topic: string): () => number {
    let count = 0;
    forgeAnswers<Metadata>('Metadata', (answered) => {
      if (count > 0 || !answered.answer.topicMetadata.some((described) => described.topic === topic)) return answered;
      count += 1;
      return { ...answered, answer: { ...answered.answer, topicMetadata: [{ topic, topicErrorCode: UNKNOWN, partitionMetadata: [] }] } };
    });
    return () => count;
  }

  async function keys(topic: string): Promise<readonly (string | null)[]> {
    const seen: (string | null)[] = [];
    for await (const { key } of log.read({ topic })) seen.push(key);
    return seen;
  }

  it.for<{ what: string; compacted?: boolean; ask: (topic: string) => Promise<unknown>; answer: unknown }>([
    { what: 'read', ask: keys, answer: [] },
    { what: 'listed', ask: async (topic) => (await log.listTopics([topic])).map(({ partitions }) => partitions), answer: [1] },
    { what: 'written', ask: async (topic) => (await log.append([{ topic, key: 'k', value: 'v' }]))[0]?.offset, answer: 0 },
    { what: 'read for its state', compacted: true, ask: async (topic) => [...(await log.readState(topic, 0))], answer: [] },
    {
      what: 'a lane',
      compacted: true,
      ask: async (topic) => await (await log.openLane({ name: topic, state: { topic, partition: 0 } })).close(),
      answer: undefined,
    },
  ])('a topic that is unknown for a moment is $what all the same', async ({ what, compacted, ask, answer }, { expect }) => {
    const topic = `late-${what.replaceAll(' ', '-')}-${OWN}`;
    await createTopics(admin, [
      { topic, numPartitions: 1, configEntries: compacted ? [{ name: 'cleanup.policy', value: 'compact' }] : [] },
    ]);
    const timesUnknown = forgeUnknown(topic);
    expect(await ask(topic)).toEqual(answer);
    expect(timesUnknown()).toBe(1);
  });

  it('missing topics are reported, however many are requested, and validateOnly creates none', async ({ expect }) => {
    const names = Array.from({ length: 20 }, (_, index) => `nowhere-${OWN}-${index}`);
    expect(await log.listTopics(names)).toEqual([]);
    await expect(keys(`nowhere-${OWN}-0`)).rejects.toThrow(TopicUnknownError);
    const specs = names.map((name) => ({ name, partitions: 1 }));
    expect((await log.createTopics(specs, { validateOnly: true })).created).toEqual(names);
    expect(await admin.listTopics()).not.toContain(`nowhere-${OWN}-0`);
  });

  /** Deletes a topic, and waits until the broker's metadata no longer lists it. The broker responds to the deletion earlier. */
  async function deleted(topic: string, expect: ExpectStatic): Promise<void> {
    await admin.deleteTopics({ topics: [topic] });
    await expect.poll(() => admin.listTopics()).not.toContain(topic);
  }

  it('after a topic that was read is deleted, another one can be read for the first time', async ({ expect }) => {
    const [gone, kept] = [`deleted-${OWN}`, `kept-${OWN}`];
    await log.createTopics([gone, kept].map((name) => ({ name, partitions: 1 })));
    await log.append([gone, kept].map((topic) => ({ topic, key: topic, value: 'v' })));
    await using other = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const first = other.read({ topic: gone });
    for await (const { key } of first) expect(key).toBe(gone);
    await deleted(gone, expect);
    const seen: unknown[] = [];
    for await (const { key } of other.read({ topic: kept })) seen.push(key);
    expect(seen).toEqual([kept]);
    await expect(other.readState(gone, 0)).rejects.toThrow(TopicUnknownError);
  });

  it('after a topic that was written is deleted, records can be appended to others', async ({ expect }) => {
    const [gone, kept, later] = [`written-${OWN}`, `written-kept-${OWN}`, `written-later-${OWN}`];
    await log.createTopics([gone, kept, later].map((name) => ({ name, partitions: 1 })));
    await using other = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    await other.append([gone, kept].map((topic) => ({ topic, key: topic, value: 'v' })));
    await deleted(gone, expect);
    await other.append([kept, later].map((topic) => ({ topic, key: topic, value: 'w' })));
    expect(await keys(kept)).toEqual([kept, kept]);
    expect(await keys(later)).toEqual([later]);
    await expect(other.append([{ topic: gone, key: 'k', value: 'v' }])).rejects.toThrow(TopicUnknownError);
    await log.createTopics([{ name: gone, partitions: 1 }]);
    await other.append([{ topic: gone, key: 'again', value: 'v' }]);
    expect(await keys(gone)).toEqual(['again']);
  });

  it('after the topic that a lane wrote last and a group read is deleted, the lane opens without it and keeps its state', async ({
    expect,
  }) => {
    const [gone, kept, state, group] = [`lane-gone-${OWN}`, `lane-kept-${OWN}`, `lane-state-${OWN}`, `lane-group-${OWN}`];
    await log.createTopics([
      { name: gone, partitions: 1 },
      { name: kept, partitions: 1 },
      { name: state, partitions: 1, compacted: true },
    ]);
    const spec = { name: `lane-${OWN}`, state: { topic: state, partition: 0 } };
    const write = (writer: LaneWriter, topics: readonly string[], value: string): Promise<void> =>
      writer.transaction((tx) => {
        tx.append(topics.map((topic) => ({ topic, key: 'k', value })));
        tx.checkpoint('at', value);
        if (topics.includes(gone)) tx.commitOffset({ group, topic: gone, partition: 0, nextOffset: 1 });
      });
    await using holder = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    await write(await holder.openLane(spec), [gone, kept], '1');
    await deleted(gone, expect);
    await using heir = await kafkaTopicLog({ brokers: broker.brokers, replication: 1, handoverMs: 0 });
    const writer = await heir.openLane(spec);
    expect(writer.state.get('at')).toBe('1');
    await write(writer, [kept], '2');
    await expect.poll(() => keys(kept)).toEqual(['k', 'k']);
    await expect(write(writer, [gone], '3')).rejects.toThrow(TopicUnknownError);
    await write(writer, [kept], '4');
    await expect.poll(() => keys(kept)).toEqual(['k', 'k', 'k']);
  });

  it.for([
    { what: 'whose records it writes', touches: (tx: LaneTransaction, topic: string) => tx.append([{ topic, key: 'k', value: 'v' }]) },
    {
      what: 'whose offsets it commits',
      touches: (tx: LaneTransaction, topic: string) => tx.commitOffset({ group: `deleted-${OWN}`, topic, partition: 0, nextOffset: 1 }),
    },
  ])(
    'one is deleted, $what, under a lane: its transaction fails, and the next one writes to others',
    async ({ what, touches }, { expect }) => {
      const [gone, kept, state] = ['gone', 'kept', 'state'].map((name) => `under-${name}-${what.replaceAll(' ', '-')}-${OWN}`) as [
        string,
        string,
        string,
      ];
      await log.createTopics([
        { name: gone, partitions: 1 },
        { name: kept, partitions: 1 },
        { name: state, partitions: 1, compacted: true },
      ]);
      await using other = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
      const writer = await other.openLane({ name: state, state: { topic: state, partition: 0 } });
      await writer.transaction((tx) => touches(tx, gone));
      await deleted(gone, expect);
      await expect(writer.transaction((tx) => touches(tx, gone))).rejects.toThrow(TopicUnknownError);
      await writer.transaction((tx) => tx.append([{ topic: kept, key: 'k', value: 'v' }]));
      await expect.poll(() => keys(kept)).toEqual(['k']);
    },
  );

  it('a reader of the last partition of a topic that is recreated with fewer partitions reports that', async ({ expect }) => {
    const topic = `fewer-${OWN}`;
    await log.createTopics([{ name: topic, partitions: 2 }]);
    await log.append([{ topic, partition: 1, key: 'k', value: 'v' }]);
    await using other = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const reader = other.read({ topic, partitions: [1], follow: true })[Symbol.asyncIterator]();
    expect((await reader.next()).value).toMatchObject({ key: 'k' });
    const next = reader.next();
    next.catch(() => undefined);
    await deleted(topic, expect);
    await made(topic);
    await expect(next).rejects.toThrow(`"${topic}" has no partition 1; it has 1`);
  });

  it('one is recreated where a reader found only an aborted transaction: its records are read from the first', async ({ expect }) => {
    const topic = `aborted-before-${OWN}`;
    await made(topic);
    const producer = plainKafka(broker.brokers).producer({ transactionalId: topic, idempotent: true, maxInFlightRequests: 1 });
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [1, 2, 3, 4].map((value) => ({ key: 'k', value: String(value) })) });
    await transaction.abort();
    await producer.disconnect();
    await expect.poll(async () => (await log.listTopics([topic]))[0]?.offsets).toEqual([{ earliest: 0, end: 5 }]);
    expect(await keys(topic)).toEqual([]);
    await deleted(topic, expect);
    await made(topic);
    await using other = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    await other.append(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => ({ topic, key, value: 'v' })));
    await expect.poll(() => keys(topic)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('one is recreated: it is listed with another ID', async ({ expect }) => {
    const topic = `again-${OWN}`;
    const id = async (): Promise<string | undefined> => (await log.listTopics([topic]))[0]?.id;
    await made(topic);
    const before = await id();
    expect([before, await id()]).toEqual([expect.stringMatching(/^[\w-]{22}$/u), before]);
    await deleted(topic, expect);
    await made(topic);
    expect(await id()).toMatch(/^[\w-]{22}$/u);
    expect(await id()).not.toBe(before);
  });
});
