import type { CompressionTypes, RecordMetadata, Transaction } from 'kafkajs';
import type { NewRecord, TopicPartition } from '../topic-log.ts';
import { refusedRecord } from './kafka-failure.ts';
import type { MessageBlocks } from './record-block/index.ts';

export interface RecordSenderOptions {
  readonly compression: CompressionTypes;
  readonly blocks: MessageBlocks;
  /** Bytes of a batch that the topic takes. */
  readonly maxBatchBytes: (topic: string) => number;
}

/** By topic and partition (`placeOf`): the offset of the first record sent, and the one after the last. */
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

  async send(transaction: Transaction, places: RecordsByPlace): Promise<SentRecords> {
    const { compression: preferred, blocks, maxBatchBytes } = this.#options;
    const timestampMs = Date.now();
    const sent = new Map<string, { readonly first: number; readonly next: number }>();
    for (const [place, { topic, partition, records }] of places) {
      try {
        const blocksOfPlace = blocks.split(records, { partition, timestampMs, maxBytes: maxBatchBytes(topic), compression: preferred });
        for (const { messages, count, compression } of blocksOfPlace) {
          const answer = await transaction.send({
            topic,
            messages,
            acks: -1,
            compression,
          });
          const offset = checkedOffset(answer, topic, partition);
          sent.set(place, { first: sent.get(place)?.first ?? offset, next: offset + count });
        }
      } catch (error) {
        throw refusedRecord(topic, error) ?? error;
      }
    }
    return sent;
  }
}

export function placeOf(topic: string, partition: number): string {
  return `${topic}-${partition}`;
}

/** Records by topic and partition (`placeOf`), in their order. */
export type RecordsByPlace = ReadonlyMap<string, TopicPartition & { readonly records: readonly NewRecord[] }>;

export function byPlace(records: readonly NewRecord[]): RecordsByPlace {
  const places = new Map<string, TopicPartition & { readonly records: NewRecord[] }>();
  let last: (TopicPartition & { readonly records: NewRecord[] }) | undefined;
  for (const record of records) {
    const { topic, partition = 0 } = record;
    // Thousands of records in a row go to one place.
    if (last === undefined || last.topic !== topic || last.partition !== partition) {
      last = places.get(placeOf(topic, partition)) ?? { topic, partition, records: [] };
      places.set(placeOf(topic, partition), last);
    }
    last.records.push(record);
  }
  return places;
}

/** What was acknowledged has to be what was sent. */
function checkedOffset(answers: readonly RecordMetadata[], topic: string, partition: number): number {
  const [answer] = answers;
  if (answers.length !== 1 || answer?.topicName !== topic || answer.partition !== partition || answer.errorCode !== 0) {
    throw new Error(`The broker's answer to a send to ${placeOf(topic, partition)} is about something else: ${JSON.stringify(answers)}`);
  }
  return Number(answer.baseOffset ?? -1);
}
