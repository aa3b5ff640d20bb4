import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, it, inject } from 'vitest';
import type { TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';

const { why, ...broker } = inject('kafkaBroker');
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined)(`records that Kafka's own producer has compressed${because}`, () => {
  let log: TopicLog;
  beforeAll(async () => {
    log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
  });
  afterAll(async () => {
    await log.close();
  });

  it.for(['snappy', 'lz4', 'zstd', 'gzip'])('with %s', async (codec, { expect }) => {
    const topic = `${codec}-${randomUUID()}`;
    await log.createTopics([{ name: topic, partitions: 1 }]);
    // Two of the values are larger than a block of Snappy (32 KiB) or LZ4 (64 KiB), so that several blocks must be put together.
    const values = ['short', 'x'.repeat(200_000), Array.from({ length: 20_000 }, (_, i) => (i * 7_919) % 10_007).join(' '), 'last'];
    await produce(topic, codec, values);
    const read: (string | null)[] = [];
    for await (const { value } of log.read({ topic })) read.push(value);
    expect(read).toEqual(values);
  });
});

/** Writes each line as a record, with the console producer of Kafka. */
async function produce(topic: string, codec: string, lines: readonly string[]): Promise<void> {
  const options = ['--bootstrap-server', broker.brokers.join(','), '--topic', topic, '--compression-codec', codec];
  // The producer runs for about a second. An optimizing compiler and a concurrent garbage collector would cost more than they save.
  const frugally = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
  const producer = ['org.apache.kafka.tools.ConsoleProducer', ...options, '--batch-size', '900000', '--timeout', '500'];
  const java = [...frugally, '-cp', broker.jars, ...producer];
  await new Promise<void>((resolve, reject) => {
    const child = execFile('java', java, (error) => (error === null ? resolve() : reject(error)));
    child.stdin?.end(`${lines.join('\n')}\n`);
  });
}
