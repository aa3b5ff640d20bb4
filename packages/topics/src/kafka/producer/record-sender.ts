import { fieldValue } from '../../record-fields.ts';
import type { NewRecord, RecordSeries, TopicPartition } from '../../topic-log.ts';
import { isSeries } from '../../transaction-content.ts';
import { chain } from '../client/driver-errors.ts';
import { refusedRecord } from '../client/error-kinds.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { BatchRecords } from '../wire/batch-record.ts';
import { BatchSplitter, RecordTooLargeError, type SplitBatch } from '../wire/split-batches.ts';
import type { Compression } from '../wire/codecs.ts';
import { batchBytes } from '../wire/record-size.ts';
import type { TransactionalProducer } from './transactional-producer.ts';

/** The offsets of sent records by `partitionKey`, in order. Other clients' records can lie between two batches. */
export type SentRecords = ReadonlyMap<string, readonly SentBatch[]>;

/** Records at consecutive offsets. */
export interface SentBatch {
  readonly first: number;
  readonly count: number;
}

/**
 * A request is full at this many bytes before compression. All of its batches are in memory together, and brokers accept at most 100 MiB by
 * default.
 */
const MOST_REQUEST_BYTES = 8 * 1024 * 1024;

export class RecordSender {
  readonly #splitter = new BatchSplitter();
  readonly #compression: Compression;
  readonly #maxMessageBytes: (topic: string) => number;

  /** `maxMessageBytes` returns a topic's `max.message.bytes`, or a default if it isn't known. */
  constructor(compression: Compression, maxMessageBytes: (topic: string) => number) {
    this.#compression = compression;
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** Sends rounds of batches, each with at most one batch per partition. Resolves to the offsets of the batches. */
  async write(producer: TransactionalProducer, partitions: RecordsByPartition): Promise<SentRecords> {
    const limits: Limits = new Map(Array.from(partitions.values(), ({ topic }) => [topic, this.#maxMessageBytes(topic)]));
    try {
      return await this.#send(producer, partitions, limits);
    } catch (error) {
      throw explained(error, limits);
    }
  }

  async #send(producer: TransactionalProducer, partitions: RecordsByPartition, limits: Limits): Promise<SentRecords> {
    const sent = new Map<string, SentBatch[]>();
    for (const round of rounds(Array.from(partitions.values(), (each) => this.#batchesOf(each, limits)))) {
      const batches = await Promise.all(round.map(async ({ batch, ...at }) => ({ ...at, batch: await batch.packed() })));
      const offsets = await producer.produce(batches);
      for (const { batch, ...at } of batches) {
        const key = partitionKey(at);
        sent.set(key, [...(sent.get(key) ?? []), { first: offsets.get(key) ?? -1, count: batch.count }]);
      }
    }
    return sent;
  }

  *#batchesOf({ topic, partition, runs }: PartitionRecords, limits: Limits): Generator<BatchTo, undefined> {
    const options = { timestampMs: Date.now(), maxBytes: batchBytes(limits.get(topic) ?? 0), compression: this.#compression };
    try {
      for (const records of runs) for (const batch of this.#splitter.split(records, options)) yield { topic, partition, batch };
    } catch (error) {
      throw error instanceof RecordTooLargeError ? Object.assign(error, { topic }) : error;
    }
  }
}

/** Returns the error for users if a record was refused, by a broker or before sending; otherwise `error` itself. */
function explained(error: unknown, limits: Limits): unknown {
  for (const each of chain(error)) {
    const { topic = '' } = each;
    const messageBytes = limits.get(topic);
    const refused = messageBytes === undefined ? undefined : refusedRecord(topic, messageBytes, each);
    if (refused !== undefined) return refused;
  }
  return error;
}

/**
 * Yields rounds with the next batch of each partition, up to the byte limit. Take a round only after the previous one has been sent, because
 * the batches' buffers are reused.
 */
function* rounds(partitions: readonly Iterator<BatchTo, undefined>[]): Generator<readonly BatchTo[]> {
  for (const left = new Set(partitions); left.size > 0;) {
    const round: BatchTo[] = [];
    let bytes = 0;
    for (const batches of left) {
      const next = batches.next();
      if (next.done === true) {
        left.delete(batches);
        continue;
      }
      round.push(next.value);
      bytes += next.value.batch.bytes;
      if (bytes >= MOST_REQUEST_BYTES) break;
    }
    if (round.length > 0) yield round;
  }
}

type Limits = ReadonlyMap<string, number>;
type BatchTo = TopicPartition & { readonly batch: SplitBatch };
type PartitionRecords = TopicPartition & { readonly runs: readonly BatchRecords[] };

/** The records of each partition in order, by `partitionKey`. Each series forms a separate run. */
export type RecordsByPartition = ReadonlyMap<string, PartitionRecords>;

export function byPartition(records: readonly (NewRecord | RecordSeries)[]): RecordsByPartition {
  const partitions = new Map<string, TopicPartition & { readonly runs: BatchRecords[] }>();
  for (const record of records) {
    const { topic, partition = 0 } = record;
    const key = partitionKey({ topic, partition });
    const runs: BatchRecords[] = partitions.get(key)?.runs ?? [];
    const last = runs.at(-1);
    if (isSeries(record)) runs.push(seriesRecords(record));
    else if (Array.isArray(last)) last.push(record);
    else runs.push([record]);
    partitions.set(key, { topic, partition, runs });
  }
  return partitions;
}

function seriesRecords({ topic, count, key, headers, valueAt, parts }: RecordSeries): BatchRecords {
  const common = headers === undefined ? { key } : { key, headers };
  return { length: count, at: (index) => ({ ...common, value: fieldValue(topic, valueAt(index)) }), parts };
}
