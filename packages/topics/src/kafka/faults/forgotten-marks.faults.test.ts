import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { committedRecords } from './committed-records.fixture.ts';
import { FORGETFUL, forgetting, forgottenTopicProducer, forgottenTopicTransaction } from './forgetful-broker.fixture.ts';
import { type Pages, newPages } from './pages.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined)(`a transaction whose end marker is missing in a partition${because}`, () => {
  let broker: KafkaBroker;
  let log: TopicLog;
  beforeAll(async () => {
    broker = await startKafkaBroker({ settings: FORGETFUL });
    log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
  });
  afterAll(async () => {
    await log.close();
    await broker.close();
  });

  /** As an earlier holder of the lane, aborts the first page. The checkpoint's partition gets the end marker, the records' partition doesn't. */
  async function abortPage(pages: Pages, protocol: number): Promise<void> {
    if (protocol === 2) {
      const told = { ...pages.lane.state, record: { key: 'page', value: '0' } };
      const forgotten = { topic: pages.topic, partition: 0, record: { key: 'page', value: '0/0' } };
      await forgottenTopicTransaction({ brokers: broker.brokers, transactionalId: pages.lane.name, told, forgotten, end: 'abort' });
      return;
    }
    const producer = forgottenTopicProducer(broker.brokers, pages.lane.name, pages.topic);
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.send({ topic: pages.lane.state.topic, messages: [{ key: 'page', value: '0' }] });
    await transaction.send({ topic: pages.topic, messages: [{ key: 'page', value: '0/0', partition: 0 }] });
    await transaction.abort();
    await producer.disconnect();
  }

  async function seen(pages: Pages): Promise<(string | null)[]> {
    return (await committedRecords(broker.brokers, pages.topic)).filter(({ partition }) => partition === 0).map(({ value }) => value);
  }

  it('is visible to the next holder of the lane and its readers if it was committed', async () => {
    await using first = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const pages = await newPages(log);
    const forgotten = forgetting(pages.topic);
    const before = await first.openLane(pages.lane);
    const isForgotten = forgotten.arm();
    await pages.write(before);
    expect(isForgotten()).toBe(true);
    await using writer = await log.openLane(pages.lane);
    expect(writer.state.get('page')).toBe('0');
    await pages.write(writer);
    await pages.verify(broker.brokers, log);
  });

  it('is visible to its readers before the next one is written if it was committed', async () => {
    const pages = await newPages(log);
    const forgotten = forgetting(pages.topic);
    await using writer = await log.openLane(pages.lane);
    const isForgotten = forgotten.arm();
    await pages.write(writer);
    expect(isForgotten()).toBe(true);
    await pages.verify(broker.brokers, log);
  });

  it.each([
    {
      where: 'the state',
      forgets: ({ lane }: Pages) => lane.state.topic,
      read: async ({ lane }: Pages) => (await log.readState(lane.state.topic, 0)).get('page'),
      finds: '0',
    },
    {
      where: 'the offset of its group',
      forgets: ({ group }: Pages) => group,
      read: ({ group, lane }: Pages) => log.groupOffset({ group, topic: `${lane.name}.requests`, partition: 0 }),
      finds: 1,
    },
  ])('is in $where at once if it was committed', async ({ forgets, read, finds }) => {
    const pages = await newPages(log);
    const forgotten = forgetting(forgets(pages));
    await using writer = await log.openLane(pages.lane);
    const isForgotten = forgotten.arm();
    await pages.write(writer);
    expect(isForgotten()).toBe(true);
    expect(await read(pages)).toBe(finds);
  });

  it('is visible to its readers, with the records after it, if an append committed it', async () => {
    const [told, forgotten] = ['append-told', 'append-forgotten'];
    await log.createTopics([told, forgotten].map((name) => ({ name, partitions: 1 })));
    const record = { partition: 0, key: 'k' };
    const isForgotten = forgetting(forgotten).arm();
    const [first, second] = await log.append([
      { ...record, topic: told, value: 'a' },
      { ...record, topic: forgotten, value: 'b' },
    ]);
    expect([first?.offset, second?.offset]).toEqual([0, 0]);
    expect(isForgotten()).toBe(true);
    await log.append([{ ...record, topic: forgotten, value: 'c' }]);
    expect((await committedRecords(broker.brokers, forgotten)).map(({ value }) => value)).toEqual(['b', 'c']);
  });

  it.each([1, 2])('doesn’t become visible with the next one if it was aborted (protocol %i)', async (protocol) => {
    const pages = await newPages(log);
    await abortPage(pages, protocol);
    await using writer = await log.openLane(pages.lane);
    expect(writer.state.get('page')).toBeUndefined();
    await writer.transaction((tx) => tx.append([{ topic: pages.topic, partition: 0, key: 'page', value: '1/0' }]));
    expect(await seen(pages)).toEqual(['1/0']);
  });
});
