import { createHash, randomUUID } from 'node:crypto';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import type { TopicLog } from '@headgate/topics';
import { type EachBatch, type PlainKafka, plainKafka } from './kafkajs.fixture.ts';

/** A committed record as both readers saw it. */
export interface CommittedRecord {
  readonly partition: number;
  readonly offset: number;
  readonly key: string | null;
  readonly value: string | null;
}

const END = '$end';
const WITHIN_MS = 300_000;

/**
 * Reads all committed records of a topic in order per partition, with a plain kafkajs consumer and with the driver. Throws if their records
 * differ. Appends a record to each partition first. An open transaction would block that record, so the function then rejects.
 */
export async function eachCommitted(brokers: readonly string[], topic: string, onRecord: (record: CommittedRecord) => void): Promise<void> {
  await using log = await kafkaTopicLog({ brokers });
  const kafka = plainKafka(brokers);
  const marks = await markEnds(kafka, topic);
  await compare({ kafka, log, topic, onRecord, isLast: ({ partition, value }) => marks.has(`${partition} ${value}`), lasts: marks.size });
}

/** All committed records of a topic, as both readers see them. Appends no marks, which a run could read. */
export async function committed(brokers: readonly string[], topic: string): Promise<readonly CommittedRecord[]> {
  await using log = await kafkaTopicLog({ brokers });
  const ends = new Map<number, number>();
  for await (const { partition, offset } of log.read({ topic })) ends.set(partition, offset);
  const records: CommittedRecord[] = [];
  const isLast = ({ partition, offset }: CommittedRecord): boolean => ends.get(partition) === offset;
  if (ends.size > 0) {
    const kafka = plainKafka(brokers);
    await compare({ kafka, log, topic, onRecord: (record) => records.push(record), isLast, lasts: ends.size });
  }
  return records;
}

interface CompareOptions extends ReadPlainlyOptions {
  readonly log: TopicLog;
}

async function compare({ log, onRecord, ...options }: CompareOptions): Promise<void> {
  const { topic } = options;
  const plain = new Digests();
  await readPlainly({
    ...options,
    onRecord(record) {
      plain.add(record);
      if (record.key !== END) onRecord(record);
    },
  });
  const own = new Digests();
  for await (const record of log.read({ topic })) own.add(record);
  if (plain.text() !== own.text()) throw new Error(`${topic}: kafkajs saw ${plain.text()}, the driver ${own.text()}`);
}

interface ReadPlainlyOptions {
  readonly kafka: PlainKafka;
  readonly topic: string;
  readonly onRecord: (record: CommittedRecord) => void;
  /** Whether a record is the last one of its partition. */
  readonly isLast: (record: CommittedRecord) => boolean;
  /** Number of partitions that have a last record. */
  readonly lasts: number;
}

async function readPlainly({ kafka, topic, onRecord, isLast, lasts }: ReadPlainlyOptions): Promise<void> {
  const consumer = kafka.consumer({
    groupId: `onlooker-${randomUUID()}`,
    maxWaitTimeInMs: 100,
    maxBytesPerPartition: 8 * 1024 * 1024,
    readUncommitted: false,
  });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const ended = new Set<number>();
  const late = (): void => reject(new Error(`${topic}: not read to the end within ${WITHIN_MS} ms, only partitions ${[...ended].join()}`));
  const timer = setTimeout(late, WITHIN_MS);
  try {
    const eachBatch = async ({ batch: { partition, messages } }: EachBatch): Promise<void> => {
      for (const { key, value, offset } of messages) {
        const record = { partition, offset: Number(offset), key: key?.toString() ?? null, value: value?.toString() ?? null };
        onRecord(record);
        if (isLast(record)) ended.add(partition);
      }
      if (ended.size === lasts) resolve();
      await Promise.resolve();
    };
    consumer.run({ eachBatch }).catch(reject);
    await promise;
  } finally {
    clearTimeout(timer);
    await consumer.disconnect();
  }
}

/** Appends a mark to each partition. Returns the marks as `<partition> <value>`. */
async function markEnds(kafka: PlainKafka, topic: string): Promise<Set<string>> {
  const admin = kafka.admin();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  try {
    await Promise.all([admin.connect(), producer.connect()]);
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const marks = (topics[0]?.partitions ?? []).map(({ partitionId }) => ({ key: END, partition: partitionId, value: randomUUID() }));
    for (const mark of marks) await producer.send({ topic, messages: [mark] });
    return new Set(marks.map(({ partition, value }) => `${partition} ${value}`));
  } finally {
    await Promise.all([admin.disconnect(), producer.disconnect()]);
  }
}

/** A count and a hash of the records that a reader saw in each partition. */
class Digests {
  readonly #partitions = new Map<number, { count: number; hash: ReturnType<typeof createHash> }>();

  add({ partition, offset, key, value }: CommittedRecord): void {
    const digest = this.#partitions.get(partition) ?? { count: 0, hash: createHash('sha1') };
    this.#partitions.set(partition, digest);
    digest.count += 1;
    digest.hash.update(`${offset}\n${key}\n${value}\n`);
  }

  text(): string {
    const parts = [...this.#partitions].sort(([one], [other]) => one - other);
    return parts
      .map(([partition, { count, hash }]) => `${partition}: ${count} records ${hash.copy().digest('hex').slice(0, 8)}`)
      .join(', ');
  }
}
