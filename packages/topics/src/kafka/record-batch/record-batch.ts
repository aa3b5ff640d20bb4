import { TopicLogError } from '../../topic-log-error.ts';
import type { Message } from 'kafkajs';
import { asBuffer, mapHeaders } from '../../record-fields.ts';
import { type BatchOptions, type BatchRecords, part, recordAt } from './batch-record.ts';
import { strictArray } from './strict-array.ts';
import type { EncodedRecords } from './encode-records.ts';

/** Options of a batch. */
export interface RecordBatchOptions extends BatchOptions {
  /** Never empty. */
  readonly records: BatchRecords;
  /** All of `records`. */
  readonly encoded: EncodedRecords;
  /** A stand-in that kafkajs gets for the bytes of all records. Default: the bytes themselves. */
  readonly token?: Buffer;
  /** Called when kafkajs encodes the first record otherwise than here, before all of them are encoded by kafkajs. */
  readonly onMismatch: (reason: string) => void;
}

type Each<Result> = (message: Message, index: number, messages: readonly Message[]) => Result;
type Grouped = Readonly<Record<string, readonly Message[]>>;

/**
 * Encoded records in the shape of kafkajs's messages: it answers the three array methods kafkajs 2.2.4 calls on the messages of a send by way of
 * the first message alone, and hands the bytes over as if they were one record's. Sequences, producer id, CRC, compression and retries stay kafkajs's.
 */
export function recordBatch(options: RecordBatchOptions): Message[] {
  const { records, encoded, partition, onMismatch, token = encoded.bytes } = options;
  const [first] = plainMessages(part(records, 0, Math.min(1, records.length)), options);
  if (first === undefined) throw new RangeError('A batch has at least one record.');

  // messageProducer.js looks for a message without a value.
  const find = (without: Each<boolean>): Message | undefined => (without(first, 0, batch) ? first : undefined);

  // groupMessagesPerPartition.js calls the partitioner for each message.
  const reduce = (group: (groups: Grouped, message: Message) => Grouped, start: Grouped): Grouped => {
    const partitions = Object.keys(group(start, first));
    if (partitions.length !== 1 || partitions[0] !== String(partition)) throw misplaced({ partition, partitions });
    return { [partition]: batch };
  };

  // produce/v3/request.js maps the messages to their timestamps, then to their encoded records.
  const map = (each: Each<unknown>): unknown[] => {
    const answer = each(first, 0, batch);
    if (answer === first.timestamp) return [answer];
    if (isEncoder(answer) && answer.buffer.equals(encoded.bytes.subarray(0, encoded.firstBytes))) return oneForAll(token, encoded.count);
    onMismatch('kafkajs encodes a record otherwise than this package');
    return plainMessages(records, options).map(each);
  };

  const batch = strictArray<Message>('A batch of records', encoded.count, { find, reduce, map });
  return batch;
}

/** `count` encoded records, the first of which holds the bytes of all (recordBatch/v0/index.js, encoder.js). */
function oneForAll(bytes: Buffer, count: number): unknown[] {
  const all = { buf: bytes, buffer: bytes };
  return strictArray('The records of a batch', count, {
    0: all,
    every: (test: (record: unknown) => boolean) => test(all),
    some: (test: (record: unknown) => boolean) => test(all),
    forEach: (visit: (record: unknown) => void) => visit(all),
  });
}

function isEncoder(answer: unknown): answer is { readonly buffer: Buffer } {
  return typeof answer === 'object' && answer !== null && 'buffer' in answer && Buffer.isBuffer(answer.buffer);
}

function misplaced(details: { readonly partition: number; readonly partitions: readonly string[] }): TopicLogError {
  const message =
    `A batch for partition ${details.partition} was given to ${details.partitions.join(', ') || 'none'} by the producer's partitioner. ` +
    "Use kafkajs's default partitioner, which goes by a message's partition.";
  return new TopicLogError({ code: 'HEADGATE_PARTITIONER', message });
}

/** The records as kafkajs's own messages: the same bytes on the wire as a batch of them, at several times the work. */
export function plainMessages(records: BatchRecords, options: BatchOptions): Message[] {
  // As text: kafkajs takes a timestamp of the number 0 for a missing one.
  const common = { partition: options.partition, timestamp: String(options.timestampMs) };
  return Array.from({ length: records.length }, (_, index) => {
    const { key, value, headers } = recordAt(records, index);
    const fields = { key: key && forKafkajs(key), value: value && forKafkajs(value), ...common };
    return headers === undefined ? fields : { ...fields, headers: { ...mapHeaders(headers, forKafkajs) } };
  });
}

/** It would write any other array of bytes as the text of its numbers. */
function forKafkajs(field: string | Uint8Array): string | Buffer {
  return typeof field === 'string' ? field : asBuffer(field);
}
