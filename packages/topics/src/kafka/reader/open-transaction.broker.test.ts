import { randomUUID } from 'node:crypto';
import { expect, it, inject } from 'vitest';
import { kafkaTopicLog } from '../index.ts';
import { plainKafka } from '../faults/committed-records.fixture.ts';

const { why, ...broker } = inject('kafkaBroker');

it.skipIf(why !== undefined)(
  `the earliest open transaction of a partition is the one that stops its readers${why === undefined ? '' : ` (skipped: ${why})`}`,
  { timeout: 600_000 },
  async () => {
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const topic = `requests-${randomUUID()}`;
    const place = { topic, partition: 0 };
    await log.createTopics([{ name: topic, partitions: 2 }]);
    const request = { ...place, key: 'k', value: 'v' };
    expect(await log.openTransaction(place)).toBeUndefined();
    expect(await log.append([request])).toEqual([{ ...place, offset: 0 }]);
    expect(await log.openTransaction(place)).toBeUndefined();

    const before = Date.now();
    await using producer = await begin(broker.brokers, `stranger-${randomUUID()}`);
    await producer.transaction.send({ topic, messages: [request] });
    await log.append([request]);
    const openTransaction = await log.openTransaction(place);
    // The first append took the offsets 0 (its record) and 1 (its end marker).
    expect(openTransaction).toEqual({ offset: 2, sinceMs: expect.any(Number) });
    // The timestamp comes from this machine's clock; the second is only tolerance.
    expect(openTransaction?.sinceMs).toBeGreaterThan(before - 1_000);
    expect(await log.openTransaction({ ...place, partition: 1 })).toBeUndefined();
    await producer.transaction.abort();
    await expect.poll(() => log.openTransaction(place)).toBeUndefined();
    await expect(log.openTransaction(place, AbortSignal.abort(new Error('enough')))).rejects.toThrow(/enough|aborted/u);
    await expect(log.openTransaction({ ...place, partition: 2 })).rejects.toMatchObject({ code: 'HEADGATE_TOPIC_UNKNOWN' });
  },
);

async function begin(brokers: readonly string[], transactionalId: string) {
  const producer = plainKafka(brokers).producer({ transactionalId, maxInFlightRequests: 1, idempotent: true });
  await producer.connect();
  return { transaction: await producer.transaction(), [Symbol.asyncDispose]: () => producer.disconnect() };
}
