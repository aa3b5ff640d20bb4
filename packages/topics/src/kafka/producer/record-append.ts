import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NewRecord, RecordPosition } from '../../topic-log.ts';
import type { Cluster } from '../client/broker.ts';
import { committedMessages } from '../client/kafkajs-cluster.ts';
import { isTopicUnknown } from '../client/error-kinds.ts';
import { HangingTransaction } from '../lane/hanging-transaction.ts';
import type { ReconnectingClient } from '../client/reconnecting-client.ts';
import type { ReadYourWrites } from '../consumer/read-your-writes.ts';
import { fetchMessages, isOutOfRange, partitionOffsets, partitionsOf } from '../consumer/fetch.ts';
import { partitionKey } from '../../topic-partition.ts';
import { type RecordSender, type SentRecords, byPartition } from './record-sender.ts';
import type { TransactionalProducer } from './transactional-producer.ts';

const LOOK_AGAIN_MS = 20;

export interface AppendOptions {
  /** A new producer of that transactional id. */
  readonly producer: (transactionalId: string, hanging: HangingTransaction) => TransactionalProducer;
  readonly sender: RecordSender;
  readonly readYourWrites: ReadYourWrites;
  readonly client: ReconnectingClient<Cluster>;
  /** Throws `TopicUnknownError` where a topic of the records was deleted. */
  readonly assertThere: () => Promise<void>;
  /** Their partitions known. */
  readonly records: readonly (NewRecord & { readonly partition: number })[];
}

/** Appends records in a transaction of its own. After a fault: when that left the outcome unknown it is looked up, else they are sent again. */
export async function appendRecords({
  producer: newProducer,
  sender,
  readYourWrites,
  client,
  assertThere,
  records,
}: AppendOptions): Promise<readonly RecordPosition[]> {
  const transactionalId = `append-${randomUUID()}`;
  let hanging = new HangingTransaction([]);
  let unknown: { readonly sent: SentRecords; readonly positions: readonly RecordPosition[] } | undefined;
  let isAcknowledged = false;
  return await client.run(async (cluster) => {
    // Its first transaction ends what an earlier one of the same id has left open.
    const producer = newProducer(transactionalId, hanging);
    try {
      await producer.connect();
      if (unknown !== undefined) {
        await producer.fence();
        if (isAcknowledged || (await isCommitted(cluster, unknown.positions))) {
          readYourWrites.committed(unknown.sent);
          return unknown.positions;
        }
        unknown = undefined;
      }
      hanging = new HangingTransaction(records);
      await producer.begin(records);
      const sent = await sender.send(producer, byPartition(records)).catch(async (error: unknown) => {
        // Readers would wait for its time-out.
        await producer.abort().catch(() => undefined);
        throw error;
      });
      const positions = positionsOf(records, sent);
      unknown = { sent, positions };
      await producer.commit();
      isAcknowledged = true;
      readYourWrites.committed(sent);
      // No process takes this transactional id over: a marker that a killed broker failed to write would leave the transaction hanging
      // before all later records.
      if (!(await readYourWrites.areReadable(cluster, positions))) throw new Error('What was committed can not be read yet.');
      return positions;
    } catch (error) {
      if (isTopicUnknown(error)) await assertThere();
      throw error;
    } finally {
      producer.disconnect().catch(() => undefined);
    }
  });
}

function positionsOf(records: AppendOptions['records'], sent: SentRecords): readonly RecordPosition[] {
  const next = new Map([...sent].map(([key, { first }]) => [key, first]));
  return records.map(({ topic, partition }) => {
    const key = partitionKey({ topic, partition });
    const offset = next.get(key) ?? -1;
    next.set(key, offset + 1);
    return { topic, partition, offset };
  });
}

/**
 * True when an append whose transaction has ended was committed, by its first record that is still in the log. Where retention or
 * compaction has removed all its records, it counts as committed: committed records would be gone as well, and sending them again would
 * show them twice to their readers, or put an old value over a newer one.
 */
async function isCommitted(cluster: Cluster, positions: readonly RecordPosition[]): Promise<boolean> {
  for (const position of positions) {
    const fate = await fateOf(cluster, position);
    if (fate !== 'gone') return fate === 'committed';
  }
  return true;
}

/** The fate of a record whose transaction has ended. A record beyond the end of the log counts as aborted. */
async function fateOf(cluster: Cluster, { topic, partition, offset }: RecordPosition): Promise<'committed' | 'aborted' | 'gone'> {
  if (offset < 0) return 'aborted';
  await partitionsOf(cluster, topic);
  try {
    for (;;) {
      // Fails while a new leader doesn't know yet how far its log is replicated.
      await partitionOffsets(cluster, topic, [partition], 'stable');
      const { data } = await fetchMessages(cluster, { topic, partition, offset, maxWaitMs: 100 });
      if (data.messages.some((message) => Number(message.offset) === offset)) {
        return Number(committedMessages(offset, data)[0]?.offset) === offset ? 'committed' : 'aborted';
      }
      if (Number(data.lastStableOffset) > offset) return 'gone';
      if (Number(data.highWatermark) <= offset) return 'aborted';
      // Another producer's open transaction comes before it.
      await sleep(LOOK_AGAIN_MS);
    }
  } catch (error) {
    if (!isOutOfRange(error)) throw error;
    const earliest = (await partitionOffsets(cluster, topic, [partition], 'earliest')).get(partition) ?? 0;
    return offset < earliest ? 'gone' : 'aborted';
  }
}
