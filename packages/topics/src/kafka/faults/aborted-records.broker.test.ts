import type { Transaction } from 'kafkajs';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, inject } from 'vitest';
import type { TopicLog, TopicRecord } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { plainKafka } from './committed-records.fixture.ts';

const { why, ...broker } = inject('kafkaBroker');
const because = why === undefined ? '' : ` (skipped: ${why})`;
const OWN = randomUUID();

describe.skipIf(why !== undefined)(`records of overlapping transactions${because}`, () => {
  let log: TopicLog;
  beforeAll(async () => {
    log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
  });
  afterAll(async () => {
    await log.close();
  });

  async function begin(name: string): Promise<Transaction & AsyncDisposable> {
    const producer = plainKafka(broker.brokers).producer({
      transactionalId: `${name}-${OWN}`,
      // The broker must not abort a transaction because the test is slow.
      transactionTimeout: 600_000,
      maxInFlightRequests: 1,
      idempotent: true,
    });
    await producer.connect();
    return Object.assign(await producer.transaction(), { [Symbol.asyncDispose]: () => producer.disconnect() });
  }

  async function read(topic: string): Promise<(string | null)[]> {
    const records: TopicRecord[] = [];
    for await (const record of log.read({ topic })) records.push(record);
    return records.map(({ value }) => value);
  }

  it('aren’t read if both are aborted, the later one first', async () => {
    const topic = `aborted-crosswise-${OWN}`;
    await log.createTopics([{ name: topic, partitions: 1 }]);
    await using earlier = await begin('earlier');
    await using later = await begin('later');
    for (const [name, transaction] of Object.entries({ earlier, later, again: earlier })) {
      await transaction.send({ topic, messages: [{ key: 'k', value: name }] });
    }
    await later.abort();
    // A new producer with this ID can begin a transaction only after the old one's abort has reached the partition, so wait for that.
    await (await begin('later'))[Symbol.asyncDispose]();
    await earlier.abort();
    await log.append([{ topic, partition: 0, key: 'k', value: 'committed' }]);
    expect(await read(topic)).toEqual(['committed']);
  });

  it('aren’t read by a reader that waits at the second one', async () => {
    const topic = `aborted-in-turn-${OWN}`;
    await log.createTopics([{ name: topic, partitions: 1 }]);
    await using earlier = await begin('first');
    await using later = await begin('second');
    for (const [name, transaction] of Object.entries({ earlier, later })) {
      await transaction.send({ topic, messages: [{ key: 'k', value: name }] });
    }
    const reader = log.read({ topic, follow: true });
    const first = reader[Symbol.asyncIterator]().next();
    await earlier.abort();
    await expect.poll(async () => (await log.listTopics([topic]))[0]?.offsets[0]?.end).toBe(1);
    // oxlint-disable-next-line machine/no-sleep -- longer than a reader waits between two polls; no event shows that it reads nothing
    await sleep(500);
    await later.abort();
    await log.append([{ topic, partition: 0, key: 'k', value: 'committed' }]);
    expect((await first).value?.value).toBe('committed');
    await reader.close();
  });
});
