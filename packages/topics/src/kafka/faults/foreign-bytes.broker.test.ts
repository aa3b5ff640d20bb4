import type { Producer } from 'kafkajs';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, it, inject } from 'vitest';
import { InvalidRecordError } from '../../topic-errors.ts';
import type { TopicLog, TopicRecord } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { plainKafka } from './committed-records.fixture.ts';

const { why, ...broker } = inject('kafkaBroker');
const because = why === undefined ? '' : ` (skipped: ${why})`;
/** A value as a schema registry's serializers frame it, with bytes that aren't UTF-8. */
const FRAMED = Buffer.from([0, 0, 0, 0, 1, 0xff, 0x80, 0x41, 0x42]);
const TEXT = '\u0000\uFEFFé漢🌊';

describe.skipIf(why !== undefined)(`a record that another client has written as bytes${because}`, () => {
  let log: TopicLog;
  let producer: Producer;
  beforeAll(async () => {
    log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    producer = plainKafka(broker.brokers).producer();
    await producer.connect();
  });
  afterAll(async () => {
    await Promise.allSettled([producer.disconnect(), log.close()]);
  });

  it('is refused with topic, partition, offset and fields, and never passed on as text', async ({ expect }) => {
    const topic = `refused-${randomUUID()}`;
    await log.createTopics([{ name: topic, partitions: 2 }]);
    const headers = { good: TEXT, ...Object.fromEntries(['a', 'b', 'c'.repeat(100)].map((name) => [name, Buffer.from([0xc3])])) };
    const good = { partition: 1, key: TEXT, value: TEXT };
    await producer.send({ topic, messages: [good, { ...good, value: FRAMED }, { ...good, key: FRAMED, value: FRAMED, headers }, good] });

    for (const follow of [false, true]) {
      const [seen, error] = await readUntilError({ topic, follow });
      expect(seen.map(({ key, value }) => [key, value])).toEqual([[TEXT, TEXT]]);
      expect(error).toBeInstanceOf(InvalidRecordError);
      expect(error).toMatchObject({ code: 'HEADGATE_INVALID_RECORD', topic, partition: 1, offset: 1, fields: ['value'] });
      expect(String(error)).toMatch(
        /offset 1 of topic "refused-[^"]+", partition 1, .* its value \(9 bytes: 00 00 00 00 01 ff 80 41 …\)\. Write text, /u,
      );
    }
    const [, second] = await readUntilError({ topic, from: 2 });
    const long = `header "${'c'.repeat(60)}…"`;
    expect(second).toMatchObject({ offset: 2, fields: ['key', 'value', 'header "a"', 'header "b"', long] });
    expect(String(second)).toMatch(/its key \(9 bytes: .*its header "a" \(1 bytes: c3\) and 2 more of its headers\. Write text, /u);
  });

  it('is read as bytes, with the last header of each name', async ({ expect }) => {
    const topic = `bytes-${randomUUID()}`;
    await log.createTopics([{ name: topic, partitions: 1 }]);
    const headers = { twice: ['x', FRAMED], text: TEXT };
    await producer.send({ topic, messages: [{ key: FRAMED, value: FRAMED, headers }] });
    const [record] = await Array.fromAsync(log.readBytes({ topic }));
    const bytes = new Uint8Array(FRAMED);
    expect(record).toMatchObject({ key: bytes, value: bytes, headers: { twice: bytes, text: new TextEncoder().encode(TEXT) } });
  });

  async function readUntilError(options: Parameters<TopicLog['read']>[0]): Promise<readonly [readonly TopicRecord[], unknown]> {
    const seen: TopicRecord[] = [];
    try {
      for await (const record of log.read(options)) seen.push(record);
    } catch (error) {
      return [seen, error];
    }
    return [seen, undefined];
  }
});
