import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Admin, type ITopicConfig, Kafka, logLevel } from 'kafkajs';
import { letQueuesIdle } from './idle-queues.fixture.ts';

export interface SeenRecord {
  readonly partition: number;
  readonly offset: number;
  readonly key: string | null;
  readonly value: string | null;
}

const END = '$end';
const POLL_MS = 200;

/** A plain kafkajs client, for the work that the driver under test shouldn't do itself. */
export function plainKafka(brokers: readonly string[]): Kafka {
  letQueuesIdle();
  return new Kafka({
    clientId: 'observer',
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 15 },
  });
}

/**
 * Creates topics, and waits until they have leaders. kafkajs's own `waitForLeaders` fails if the broker doesn't know the new topic yet, which is
 * common on a busy machine. Rejects at once if the brokers refuse a topic.
 */
export async function createTopics(admin: Admin, topics: readonly ITopicConfig[]): Promise<void> {
  await admin.createTopics({ topics: [...topics], waitForLeaders: false });
  const names = topics.map(({ topic }) => topic);
  for (;;) {
    const known = await admin.fetchTopicMetadata({ topics: names }).catch(() => undefined);
    if (known?.topics.every(({ partitions }) => partitions.length > 0 && partitions.every(({ leader }) => leader >= 0)) === true) return;
    await sleep(50);
  }
}

/**
 * Repeats `look` until it succeeds, for `withinMs`, because kafkajs gives up on a broker that is away for a moment. `look` gets the time left, ms,
 * and should use a new client each time.
 */
export async function lookPatiently<T>(withinMs: number, look: (leftMs: number) => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + withinMs; ; await sleep(POLL_MS)) {
    try {
      return await look(deadline - performance.now());
    } catch (error) {
      if (performance.now() + POLL_MS >= deadline) throw error;
    }
  }
}

/**
 * Reads a topic with a plain consumer, without the driver, up to a record that it first appends to every partition. If an open transaction hides that
 * record, it rejects after `withinMs` (default 300,000).
 */
export async function committedRecords(brokers: readonly string[], topic: string, withinMs = 300_000): Promise<readonly SeenRecord[]> {
  return await lookPatiently(withinMs, (leftMs) => readCommitted(brokers, topic, leftMs));
}

async function readCommitted(brokers: readonly string[], topic: string, withinMs: number): Promise<readonly SeenRecord[]> {
  const kafka = plainKafka(brokers);
  const waiting = await markEnds(kafka, topic);
  const seen: SeenRecord[] = [];
  const consumer = kafka.consumer({ groupId: `observer-${randomUUID()}`, maxWaitTimeInMs: 100, readUncommitted: false });
  let timer: NodeJS.Timeout | undefined;
  try {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await new Promise<void>((resolve, reject) => {
      const late = (): void =>
        reject(new Error(`Not read to the end within ${withinMs} ms: ${[...waiting].join(', ')} of ${topic} behind an open transaction.`));
      timer = setTimeout(late, withinMs);
      consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
        if (!restart) reject(error);
      });
      const eachMessage = async ({
        partition,
        message,
      }: {
        partition: number;
        message: { key: Buffer | null; value: Buffer | null; offset: string };
      }): Promise<void> => {
        const [key, value] = [message.key?.toString() ?? null, message.value?.toString() ?? null];
        if (key !== END) seen.push({ partition, offset: Number(message.offset), key, value });
        else if (waiting.delete(`${partition} ${value}`) && waiting.size === 0) resolve();
        await Promise.resolve();
      };
      consumer.run({ eachMessage }).catch(reject);
    });
  } finally {
    clearTimeout(timer);
    await consumer.disconnect();
  }
  return seen;
}

/** Appends an end record to each partition. Returns these records as `<partition> <value>`. */
async function markEnds(kafka: Kafka, topic: string): Promise<Set<string>> {
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
