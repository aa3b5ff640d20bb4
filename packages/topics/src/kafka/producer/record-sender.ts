import type { CompressionTypes, RecordMetadata, Transaction } from 'kafkajs';
import { fieldValue } from '../../record-fields.ts';
import type { NewRecord, RecordSeries, TopicPartition } from '../../topic-log.ts';
import { isSeries } from '../../transaction-content.ts';
import { isTooLarge, refusedRecord } from '../client/error-kinds.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { BatchRecords, RecordBatches } from '../record-batch/index.ts';
import { batchBytes } from '../admin/record-size.ts';

export interface RecordSenderOptions {
  readonly compression: CompressionTypes;
  readonly batches: RecordBatches;
  /** A topic's `max.message.bytes`, as far as it is known. */
  readonly maxMessageBytes: (topic: string) => number;
  /** Looks that up again. */
  readonly refreshTopic: (topic: string) => Promise<void>;
}

/** By topic and partition (`partitionKey`): the offset of the first record sent, and the one after the last. */
export type SentRecords = ReadonlyMap<string, { readonly first: number; readonly next: number }>;

/**
 * Sends records whose partitions are known. One topic and partition a send: kafkajs loses records without an error when a send spans
 * several leaders and leadership moves.
 */
export class RecordSender {
  readonly #options: RecordSenderOptions;

  constructor(options: RecordSenderOptions) {
    this.#options = options;
  }

  async send(transaction: Transaction, partitions: RecordsByPartition): Promise<SentRecords> {
    const { compression: preferred, batches, maxMessageBytes } = this.#options;
    const timestampMs = Date.now();
    const sent = new Map<string, { readonly first: number; readonly next: number }>();
    for (const [key, { topic, partition, runs }] of partitions) {
      const messageBytes = maxMessageBytes(topic);
      const options = { partition, timestampMs, maxBytes: batchBytes(messageBytes), compression: preferred };
      try {
        for (const records of runs) {
          for (const { messages, count, compression } of batches.split(records, options)) {
            const answer = await transaction.send({ topic, messages, acks: -1, compression });
            const offset = checkedOffset(answer, topic, partition);
            sent.set(key, { first: sent.get(key)?.first ?? offset, next: offset + count });
          }
        }
      } catch (error) {
        if (isTooLarge(error)) await this.#assertNoLess(topic, messageBytes);
        throw refusedRecord({ topic, messageBytes }, error) ?? error;
      }
    }
    return sent;
  }

  /** Throws where a topic takes less than was thought: that is no refusal, and passes. */
  async #assertNoLess(topic: string, messageBytes: number): Promise<void> {
    const { refreshTopic, maxMessageBytes } = this.#options;
    await refreshTopic(topic);
    if (maxMessageBytes(topic) < messageBytes)
      throw new Error(`Topic ${topic} takes smaller batches than before: they have to be split again.`);
  }
}

/** Records by topic and partition (`partitionKey`), in their order; a series is a run of its own. */
export type RecordsByPartition = ReadonlyMap<string, TopicPartition & { readonly runs: readonly BatchRecords[] }>;

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

function seriesRecords({ topic, count, key, headers, valueAt }: RecordSeries): BatchRecords {
  const common = headers === undefined ? { key } : { key, headers };
  return { length: count, at: (index) => ({ ...common, value: fieldValue(topic, valueAt(index)) }) };
}

/** The acknowledged topic-partition has to be the one that was sent to. */
function checkedOffset(answers: readonly RecordMetadata[], topic: string, partition: number): number {
  const [answer] = answers;
  if (answers.length !== 1 || answer?.topicName !== topic || answer.partition !== partition || answer.errorCode !== 0) {
    throw new Error(
      `The broker's answer to a send to ${partitionKey({ topic, partition })} is about something else: ${JSON.stringify(answers)}`,
    );
  }
  return Number(answer.baseOffset ?? -1);
}
