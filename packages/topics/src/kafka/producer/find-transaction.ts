import type { OffsetCommit, TopicPartition, TopicRecord } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { ProducerEpoch } from '../requests/transactions.ts';
import type { Cluster } from '../client/cluster.ts';
import { READ_UNCOMMITTED } from '../requests/offsets.ts';
import { fetchBatches, isOutOfRange, partitionOffsets } from '../reader/fetch.ts';
import { type FetchedBatch, isCommit } from '../wire/read-batches.ts';
import type { SentBatch } from './record-sender.ts';
import type { TransactionId } from './transaction-law.ts';
import { SEQUENCES } from './transactional-producer.ts';

/** Lists everything that one transaction writes. On a lane, this note is itself a record of the transaction. */
export interface TransactionNote extends TransactionId, ProducerEpoch {
  readonly parts: readonly TransactionPart[];
  readonly offsets: readonly OffsetCommit[];
}

export interface TransactionPart extends TopicPartition {
  /** The records are at this offset or after it. */
  readonly from: number;
  /** The producer's sequence number of the first record. */
  readonly sequence: number;
  readonly count: number;
}

export interface FoundPart {
  readonly part: TransactionPart;
  readonly isCommitted: boolean;
  /** The records that were found, whether committed or aborted. */
  readonly records: readonly TopicRecord<Uint8Array>[];
}

/** How long a broker can wait for its remote storage, or at the end of the log, before it responds without records, ms. */
const WAIT_MS = 1_000;

/** Looks for the records of a transaction, which must have ended in all its partitions. */
export async function findTransaction(cluster: Cluster, note: TransactionNote): Promise<readonly FoundPart[]> {
  return await Promise.all(note.parts.map((part) => findPart(cluster, note, part)));
}

async function findPart(cluster: Cluster, producer: ProducerEpoch, part: TransactionPart): Promise<FoundPart> {
  const { topic, partition } = part;
  const records: TopicRecord<Uint8Array>[] = [];
  for (let { from: offset } = part; ;) {
    const fetched = await fetchBatches(cluster, { topic, partition, offset, maxWaitMs: WAIT_MS, isolationLevel: READ_UNCOMMITTED }).catch(
      (error: unknown) => (isOutOfRange(error) ? undefined : Promise.reject(error)),
    );
    if (fetched === undefined) {
      // Retention has deleted the records before the earliest offset, possibly all records of this part.
      const earliest = (await partitionOffsets(cluster, topic, [partition], 'earliest')).get(partition) ?? 0;
      if (earliest <= offset) return { part, isCommitted: false, records };
      offset = earliest;
      continue;
    }
    for (const batch of fetched.batches) {
      if (batch.producerId !== producer.producerId) continue;
      if (!batch.isControl) {
        if (batch.producerEpoch !== producer.producerEpoch) continue;
        const from = offset;
        records.push(...batch.records.filter((record) => record.offset >= from && belongs(record, batch, part)));
      } else if (records.length > 0 && isCommit(batch) !== undefined) return { part, isCommitted: isCommit(batch) === true, records };
    }
    const { next } = fetched;
    // The log ends without a marker for this transaction. This happens if the transactional ID has expired, because the markers of its new
    // producer ID don't end transactions of the old one.
    if (next === offset || next >= fetched.highWatermark) return { part, isCommitted: false, records };
    offset = next;
  }
}

function belongs(
  { offset }: TopicRecord<Uint8Array>,
  { firstOffset, firstSequence }: FetchedBatch,
  { sequence, count }: TransactionPart,
): boolean {
  return (firstSequence + offset - firstOffset - sequence + SEQUENCES) % SEQUENCES < count;
}

export function placeOf({ part, records }: FoundPart): [key: string, batches: readonly SentBatch[]] {
  return [partitionKey(part), records.map(({ offset }) => ({ first: offset, count: 1 }))];
}
