import { randomUUID } from 'node:crypto';
import { describe, inject, it } from 'vitest';
import type { AvailabilityChange } from '../../availability.ts';
import { kafkaTopicLog } from '../index.ts';
import type { FetchedPartition } from '../requests/fetch.ts';
import type { PartitionAnswers } from '../requests/request.ts';
import type { Metadata } from '../requests/topics.ts';
import { forgeAnswers, forgetForgeries } from './forged-answers.fixture.ts';

const { why, ...broker } = inject('kafkaBroker');
const because = why === undefined ? '' : ` (skipped: ${why})`;

forgetForgeries();

/** Makes the next `count` metadata responses list no broker. The returned function tells how many are left; negative numbers count later ones. */
function forgeNoBrokers(count: number): () => number {
  let left = count;
  forgeAnswers<Metadata>('Metadata', (answered) => (left-- <= 0 ? answered : { ...answered, answer: { ...answered.answer, brokers: [] } }));
  return () => left;
}

/** Empties the responses to fetches while `isSlow` returns true, as from brokers that haven't read their remote storage in time. */
function forgeSlowRemoteStorage(isSlow: () => boolean): void {
  const batches = Buffer.alloc(0);
  forgeAnswers<PartitionAnswers<FetchedPartition>>('Fetch', (answered) =>
    isSlow() ? { ...answered, answer: new Map(Array.from(answered.answer, ([key, data]) => [key, { ...data, batches }])) } : answered,
  );
}

describe.skipIf(why !== undefined)(`a response without brokers${because}`, () => {
  it.for([1, 10])('is requested again: %i times', async (count, { expect }) => {
    const opening = forgeNoBrokers(count);
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    expect(opening()).toBeLessThan(0);
    const [topic, state] = [`unready-${randomUUID()}`, `unready-${randomUUID()}`];
    const creating = forgeNoBrokers(count);
    await log.createTopics([
      { name: topic, partitions: 1 },
      { name: state, partitions: 1, compacted: true },
    ]);
    expect(creating()).toBeLessThan(count);
    // Another log doesn't know the topics yet.
    await using taker = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const taking = forgeNoBrokers(count);
    const place = { topic, partition: 0 };
    await using writer = await taker.openLane({ name: topic, state: { topic: state, partition: 0 }, writes: [place] });
    expect(taking()).toBeLessThan(0);
    await writer.transaction((tx) => tx.append([{ ...place, key: null, value: '0' }]));
    await using reader = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const reading = forgeNoBrokers(count);
    for await (const { value } of reader.read({ topic, follow: true })) {
      expect(value).toBe('0');
      break;
    }
    expect(reading()).toBeLessThan(0);
  });

  it('is reported if an open gets no other', async ({ expect }) => {
    forgeNoBrokers(Infinity);
    await expect(kafkaTopicLog({ brokers: broker.brokers, replication: 1 })).rejects.toThrow(
      `The topic log on Kafka at ${broker.brokers.join(', ')} can't be opened: no broker is ready: the cluster metadata lists none ` +
        '(LEADER_NOT_AVAILABLE). The cluster may be starting, or may have no controller. Try again, and check the broker logs.',
    );
  });
});

describe.skipIf(why !== undefined)(`a response without records from a partition that has some${because}`, () => {
  it.for([true, false])('is requested again, and reported as a wait: no record is skipped (follow: %s)', async (follow, { expect }) => {
    let isSlow = false;
    forgeSlowRemoteStorage(() => isSlow);
    const reasons: string[] = [];
    const onAvailability = (change: AvailabilityChange): void => {
      if (change.available) return;
      reasons.push(change.reason);
      isSlow = false;
    };
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1, onAvailability });
    const topic = `remote-${String(follow)}-${randomUUID()}`;
    await log.createTopics([{ name: topic, partitions: 1 }]);
    const values = ['0', '1', '2'];
    for (const value of values) await log.append([{ topic, key: null, value }]);
    // On a busy machine, a transaction may have waited for the end of the previous one, and the log may have reported the wait.
    reasons.length = 0;
    isSlow = true;
    const read: (string | null)[] = [];
    for await (const { value } of log.read({ topic, follow })) if (read.push(value) === values.length) break;
    expect(read).toEqual(values);
    expect(reasons).toEqual([
      `The broker did not return the committed records at ${topic}-0:0. Check whether its remote storage is slow, or whether the topic was compacted earlier.`,
    ]);
  });
});

describe.skipIf(why !== undefined)(`a response without partitions because a quota is used up${because}`, () => {
  it('is requested again on the same connection, and nothing is reported', async ({ expect }) => {
    const changes: AvailabilityChange[] = [];
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1, onAvailability: (change) => changes.push(change) });
    const topic = `throttled-${randomUUID()}`;
    await log.createTopics([{ name: topic, partitions: 1 }]);
    await log.append([{ topic, key: null, value: '0' }]);
    const asked = new Set<string>();
    let left = 5;
    forgeAnswers<PartitionAnswers<FetchedPartition>>('Fetch', (answered, by) => {
      asked.add(by);
      return left-- > 0 ? { throttleMs: 1, refusals: [], answer: new Map() } : answered;
    });
    const read: (string | null)[] = [];
    for await (const { value } of log.read({ topic })) read.push(value);
    expect(read).toEqual(['0']);
    expect([left, asked.size, changes]).toEqual([-1, 1, []]);
  });
});
