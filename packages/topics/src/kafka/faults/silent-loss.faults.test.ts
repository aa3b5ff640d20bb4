import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import type { Admin } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kafkaTopicLog } from '../index.ts';
import { committedRecords, plainKafka } from './committed-records.fixture.ts';
import { newPages } from './pages.fixture.ts';
import { type PlainWriter, plainWriter } from './plain-writer.fixture.ts';
import { type ProxiedBroker, proxiedBroker } from './proxied-broker.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;
const MOVES = process.env['HEADGATE_TORTURE'] === undefined ? 3 : 45;
/** The last partition moves. Each of the three nodes leads one of the other partitions. */
const PARTITIONS = 4;

describe.skipIf(why !== undefined)(`the page after one whose responses were cut off${because}`, () => {
  let proxied: ProxiedBroker;
  beforeAll(async () => {
    proxied = await proxiedBroker(startKafkaBroker);
  });
  afterAll(() => proxied.close());

  it('kafkajs alone: it is acknowledged and committed, and missing', async () => {
    const topic = 'plain';
    await using log = await kafkaTopicLog({ brokers: proxied.brokers, replication: 1 });
    await log.createTopics([{ name: topic, partitions: 1 }]);
    const retry = { initialRetryTime: 50, retries: 5 };
    await using writer = await plainWriter({ brokers: proxied.brokers, clientId: 'plain', topic, retry });
    await writer.write(0, 1);
    const cuts = cutUntilGivenUp('plain');
    await expect(writer.write(1, 1)).rejects.toThrow(/connection/iu);
    expect(cuts()).toBeGreaterThan(0);
    const [lost] = await writer.write(2, 1);
    await writer.write(3, 1);
    const seen = await committedRecords(proxied.brokers, topic);
    expect(seen.map(({ value }) => value)).toEqual(['0', '3']);
    // The response has the offset of the page that was aborted, which is after the first page and its commit marker.
    expect(lost).toBe(2);
  });

  it('a lane: every page once', async () => {
    const clientId = 'lane';
    await using log = await kafkaTopicLog({ brokers: proxied.brokers, clientId, replication: 1 });
    const pages = await newPages(log, { partitions: 1 });
    const writer = await log.openLane(pages.lane);
    await pages.write(writer);
    const cuts = cutUntilGivenUp(clientId);
    await pages.write(writer, 3);
    expect(cuts()).toBeGreaterThan(0);
    await pages.verify(proxied.brokers, log);
  });

  /** Cuts the response to every send, until the client ends its transaction or starts a new producer. The returned function counts the cuts. */
  function cutUntilGivenUp(clientId: string): () => number {
    let cuts = 0;
    let over = false;
    proxied.rules.set(clientId, ({ api }) => {
      over ||= api === 'EndTxn' || api === 'InitProducerId';
      if (over || api !== 'Produce') return 'pass';
      cuts += 1;
      return 'cut answer';
    });
    return () => cuts;
  }
});

describe.skipIf(why !== undefined)(
  `a partition moves ${MOVES} times to a node that leads another${because}`,
  { timeout: 600_000 * MOVES },
  () => {
    let broker: KafkaBroker;
    let admin: Admin;
    beforeAll(async () => {
      broker = await startKafkaBroker({ nodes: 3 });
      admin = plainKafka(broker.brokers).admin();
      await admin.connect();
    });
    afterAll(async () => {
      await admin.disconnect();
      await broker.close();
    });

    it('kafkajs alone, one send per page: records of acknowledged and committed pages are missing or duplicated', async () => {
      const topic = 'plain';
      await using log = await kafkaTopicLog({ brokers: broker.brokers });
      await log.createTopics([{ name: topic, partitions: PARTITIONS }]);
      const open = (): Promise<PlainWriter> => plainWriter({ brokers: broker.brokers, clientId: 'plain', topic });
      await using writers = new AsyncDisposableStack();
      let writer = writers.use(await open());
      const written: number[] = [];
      await afterEachMove(topic, async (page) => {
        try {
          await writer.write(page, PARTITIONS);
          written.push(page);
        } catch {
          // This test counts only silent losses, so a visible error is ignored.
          writer = writers.use(await open());
        }
      });
      const seen = (await committedRecords(broker.brokers, topic)).map(({ partition, value }) => `${value}/${partition}`);
      const acknowledged = written.flatMap((page) => Array.from({ length: PARTITIONS }, (_, partition) => `${page}/${partition}`));
      const wrong = acknowledged.filter((record) => seen.filter((other) => other === record).length !== 1);
      expect(wrong).not.toEqual([]);
    });

    it('a lane: every page once', async () => {
      await using log = await kafkaTopicLog({ brokers: broker.brokers });
      const pages = await newPages(log, { partitions: PARTITIONS });
      await using writer = await log.openLane(pages.lane);
      await afterEachMove(pages.topic, () => pages.write(writer));
      expect(await pages.verify(broker.brokers, log)).toBe(MOVES + 1);
    });

    /** Writes one page before the first move, and one after each. The writer then still expects the last partition at its former leader. */
    async function afterEachMove(topic: string, write: (page: number) => Promise<void>): Promise<void> {
      let mover = 1;
      await lead(topic, [1, 2, 3, mover]);
      await write(0);
      for (let page = 1; page <= MOVES; page += 1) {
        mover = (mover % 3) + 1;
        await lead(topic, [1, 2, 3, mover]);
        await write(page);
      }
    }

    /** Makes these nodes the leaders of the topic's partitions, each of which then has two replicas. */
    async function lead(topic: string, wanted: readonly number[]): Promise<void> {
      const before = await leaders(topic);
      // The second replica must not be on the former leader, which would otherwise stay the leader.
      const other = (node: number, partition: number): number => [1, 2, 3].find((id) => id !== node && id !== before[partition]) ?? 1;
      const partitionAssignment = wanted.map((node, partition) => ({ partition, replicas: [node, other(node, partition)] }));
      await admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] });
      await expect.poll(() => leaders(topic), { interval: 50 }).toEqual(wanted);
    }

    async function leaders(topic: string): Promise<readonly number[]> {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      return (topics[0]?.partitions ?? []).toSorted((a, b) => a.partitionId - b.partitionId).map(({ leader }) => leader);
    }
  },
);
