import { createRequire } from 'node:module';
import { CompressionTypes, type Message } from 'kafkajs';
import { asBuffer, mapHeaders } from '../../record-fields.ts';
import { recordingBroker } from '../client/recording-broker.fixture.ts';
import { produce } from '../requests/transactions.ts';
import { type BatchRecords, recordAt } from './batch-record.ts';
import { type RecordBatch, batchPieces } from './record-batch.ts';

/** Loads internal modules of kafkajs 2.2.4: those through which a produce request goes between the producer and the socket. */
const load = createRequire(import.meta.url) as (path: string) => unknown;
const frame = load('kafkajs/src/protocol/request') as (options: object) => Promise<{ readonly buffer: Buffer }>;
const produceRequest = load('kafkajs/src/protocol/requests/produce/v7/request') as (request: object) => object;

const PRODUCER = { producerId: '7', producerEpoch: 3 };
const FIRST_SEQUENCE = 12;

export interface WireBytesOptions {
  readonly partition: number;
  readonly timestampMs: number;
  readonly compression?: CompressionTypes;
}

/** The bytes that kafkajs writes to the socket for a transactional send of these records to one partition. */
export async function kafkajsBytes(
  records: BatchRecords,
  { compression = CompressionTypes.None, ...options }: WireBytesOptions,
): Promise<Buffer> {
  const partitions = [{ partition: options.partition, messages: plainMessages(records, options), firstSequence: FIRST_SEQUENCE }];
  const request = produceRequest({
    acks: -1,
    timeout: 30_000,
    transactionalId: 'lane',
    ...PRODUCER,
    compression,
    topicData: [{ topic: 'pages', partitions }],
  });
  return (await frame({ request, correlationId: 5, clientId: 'headgate' })).buffer;
}

export async function ownBytes(batch: RecordBatch, partition: number): Promise<Buffer> {
  const broker = recordingBroker({
    version: 7,
    answer: (body) =>
      body
        .array(['pages'], (topic) =>
          body.string(topic).array([partition], () => body.int32(partition).int16(0).int64(0).int64(-1).int64(0)),
        )
        .int32(0),
  });
  const pieces = batchPieces(batch, { ...PRODUCER, baseSequence: FIRST_SEQUENCE });
  await broker.ask(produce[1], { transactionalId: 'lane', topicPartitions: [{ topic: 'pages', partition, batch: pieces }] });
  return Buffer.concat([...broker.requests]);
}

/** The size of the batch in a request from `kafkajsBytes` or `ownBytes`. */
export function batchBytes(wire: Buffer): number {
  return wire.readInt32BE(SIZE_OF_BATCH_AT);
}

/**
 * The batch's size comes after these fields: frame size, API key, version, correlation ID, client ID; transactional ID, acks, timeout, topic count,
 * topic, partition count, partition.
 */
const SIZE_OF_BATCH_AT = 4 + 2 + 2 + 4 + (2 + 'headgate'.length) + (2 + 'lane'.length) + 2 + 4 + 4 + (2 + 'pages'.length) + 4 + 4;

export function plainMessages(records: BatchRecords, options: { readonly partition: number; readonly timestampMs: number }): Message[] {
  // The timestamp is text, because kafkajs treats the number 0 as a missing timestamp.
  const common = { partition: options.partition, timestamp: String(options.timestampMs) };
  return Array.from({ length: records.length }, (_, index) => {
    const { key, value, headers } = recordAt(records, index);
    const fields = { key: key && forKafkajs(key), value: value && forKafkajs(value), ...common };
    return headers === undefined ? fields : { ...fields, headers: { ...mapHeaders(headers, forKafkajs) } };
  });
}

/** Returns a `Buffer`, because kafkajs writes any other array of bytes as the text of its numbers. */
function forKafkajs(field: string | Uint8Array): string | Buffer {
  return typeof field === 'string' ? field : asBuffer(field);
}
