import { createRequire } from 'node:module';
import { CompressionTypes, type Message } from 'kafkajs';

/** The parts of kafkajs 2.2.4 a send goes through between the producer and the socket. */
const load = createRequire(import.meta.url) as (path: string) => unknown;
const groupMessages = load('kafkajs/src/producer/groupMessagesPerPartition') as (group: {
  topic: string;
  partitionMetadata: readonly object[];
  messages: Message[];
  partitioner: (choice: { message: Message }) => number;
}) => Record<string, Message[]>;
const produceRequest = load('kafkajs/src/protocol/requests/produce/v7/request') as (request: object) => {
  encode(): Promise<{ buffer: Buffer }>;
};

/**
 * The bytes that kafkajs writes to the socket for a transactional send of these messages to one topic, made by the same internal calls as
 * its producer's.
 */
export async function wireBytes(messages: Message[], compression: CompressionTypes = CompressionTypes.None): Promise<Buffer> {
  // The look for a message without a value, as in messageProducer.js.
  if (messages.find((message) => message.value === undefined) !== undefined) throw new Error('A message without a value.');
  const partitioner = ({ message }: { message: Message }): number => message.partition ?? 0;
  const groups = groupMessages({ topic: 'pages', partitionMetadata: [{}], messages, partitioner });
  const partitions = Object.entries(groups).map(([partition, group]) => ({
    partition: Number(partition),
    messages: group,
    firstSequence: 12,
  }));
  const topicData = [{ topic: 'pages', partitions }];
  const request = produceRequest({
    acks: -1,
    timeout: 30_000,
    transactionalId: 'lane',
    producerId: 7,
    producerEpoch: 3,
    compression,
    topicData,
  });
  return (await request.encode()).buffer;
}

/** The size of the one batch in what `wireBytes` answered. */
export function batchBytes(wire: Buffer): number {
  return wire.readInt32BE(SIZE_OF_BATCH_AT);
}

/** Transactional id, acks, timeout, how many topics, topic, how many partitions, partition. */
const SIZE_OF_BATCH_AT = 2 + 'lane'.length + 2 + 4 + 4 + (2 + 'pages'.length) + 4 + 4;
