import { setTimeout as sleep } from 'node:timers/promises';
import { plainKafka } from './kafkajs.fixture.ts';

const TOPICS = ['followers.ids', 'followers.pages', 'followers.crawls', 'followers.state'];
const NODES = [1, 2, 3];
const WITHIN_MS = 120_000;

/** Moves the partitions of `TOPICS` to other leaders, `times` times. Returns the total number of moves. */
export async function moveLeaders(
  brokers: readonly string[],
  { times, betweenMoves }: { readonly times: number; readonly betweenMoves: () => Promise<void> },
): Promise<number> {
  const admin = plainKafka(brokers).admin();
  await admin.connect();
  const leaders = async (topic: string): Promise<ReadonlyMap<number, number>> => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return new Map((topics[0]?.partitions ?? []).map(({ partitionId, leader }) => [partitionId, leader]));
  };
  let moved = 0;
  try {
    for (let time = 0; time < times; time += 1) {
      const before = await Promise.all(TOPICS.map(async (topic) => ({ topic, leaders: await leaders(topic) })));
      // The new replicas don't include the current leader.
      const topics = before.map((one) => ({
        topic: one.topic,
        partitionAssignment: [...one.leaders].map(([partition, leader]) => ({ partition, replicas: NODES.filter((id) => id !== leader) })),
      }));
      await admin.alterPartitionReassignments({ topics });
      for (const one of before) {
        for (const deadline = performance.now() + WITHIN_MS; ; await sleep(50)) {
          const now = await leaders(one.topic);
          const stayed = [...one.leaders].filter(([partition, leader]) => now.get(partition) === leader || now.get(partition) === -1);
          if (stayed.length === 0) break;
          if (performance.now() > deadline) throw new Error(`${one.topic}: no other leader within ${WITHIN_MS} ms`);
        }
        moved += one.leaders.size;
      }
      await betweenMoves();
    }
  } finally {
    await admin.disconnect();
  }
  return moved;
}
