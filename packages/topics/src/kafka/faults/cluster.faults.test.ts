import { type KafkaBroker, type KafkaNode, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import type { Admin } from 'kafkajs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { plainKafka } from './committed-records.fixture.ts';
import { newPages } from './pages.fixture.ts';
import { writeOn } from './write-on.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;
const isTorture = process.env['HEADGATE_TORTURE'] !== undefined;
const ROUNDS = isTorture ? 5 : 1;
const MOVES = 20 * ROUNDS;
const PARTITIONS = 4;

describe.skipIf(why !== undefined)(`three brokers${because}`, { timeout: 600_000 * ROUNDS }, () => {
  let broker: KafkaBroker;
  let admin: Admin;
  let log: TopicLog;
  beforeAll(async () => {
    broker = await startKafkaBroker({ nodes: 3 });
    log = await kafkaTopicLog({ brokers: broker.brokers });
    admin = plainKafka(broker.brokers).admin();
    await admin.connect();
  });
  afterAll(async () => {
    await Promise.allSettled([admin.disconnect(), log.close()]);
    await broker.close();
  });

  it(`keep every page once while a lane writes to four partitions that get another leader ${MOVES} times`, async () => {
    const pages = await newPages(log, { partitions: PARTITIONS });
    await using writing = writeOn(pages, await log.openLane(pages.lane));
    for (let moved = 0; moved < MOVES; moved += PARTITIONS) {
      await writing.further(1);
      const before = await leaders(pages.topic);
      // The new replicas of a partition don't include its leader, so each partition gets another leader.
      const partitionAssignment = before.map((leader, partition) => ({ partition, replicas: [1, 2, 3].filter((id) => id !== leader) }));
      await admin.alterPartitionReassignments({ topics: [{ topic: pages.topic, partitionAssignment }] });
      const stayed = async (): Promise<readonly number[]> =>
        (await leaders(pages.topic)).filter((leader, partition) => leader === before[partition]);
      await expect.poll(stayed, { interval: 50 }).toEqual([]);
    }
    await writing.further(1);
    await writing.end();
    expect(await pages.verify(broker.brokers, log)).toBeGreaterThan(MOVES / PARTITIONS);
  });

  it.for([
    { what: 'killed', down: (node: KafkaNode) => node.kill(), rounds: ROUNDS },
    // A broker that shuts down cleanly first hands its partitions over to other brokers, and from then on refuses requests for them.
    { what: 'restarted', down: ended, rounds: isTorture ? ROUNDS : 0 },
  ])('keep every page once while a lane writes and each in turn is $what, $rounds times', async ({ down, rounds }, { skip }) => {
    if (rounds === 0) skip('only in torture');
    const pages = await newPages(log, { partitions: PARTITIONS });
    await using writing = writeOn(pages, await log.openLane(pages.lane));
    for (let round = 0; round < rounds; round += 1) {
      for (const node of broker.nodes) {
        await writing.further(2);
        await sleep(200 * Math.random());
        await down(node);
        await writing.further(2);
        await node.start();
      }
    }
    await writing.further(2);
    await writing.end();
    expect(await pages.verify(broker.brokers, log)).toBeGreaterThan(6 * rounds);
  });

  async function leaders(topic: string): Promise<readonly number[]> {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const found = topics[0]?.partitions ?? [];
    return found.toSorted((a, b) => a.partitionId - b.partitionId).map(({ leader }) => leader);
  }
});

async function ended(node: KafkaNode): Promise<void> {
  if (node.pid !== undefined) process.kill(node.pid, 'SIGTERM');
  await expect.poll(() => node.pid).toBeUndefined();
}
