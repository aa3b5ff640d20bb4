import { describe, expect, it } from 'vitest';
import { answeredError } from '../client/ask.ts';
import type { Broker, Cluster, ProduceOptions, TransactionProtocol } from '../client/broker.ts';
import { TransactionalProducer } from './transactional-producer.ts';

const PAGES = { topic: 'pages', partition: 0 };
const STATE = { topic: 'state', partition: 0 };
const batch = { records: Buffer.from('records'), count: 10, timestampMs: 0, codec: 0 };
const both = [PAGES, STATE].map((place) => ({ ...place, batch }));
const CONCURRENT_TRANSACTIONS = 51;
const NOT_LEADER = 6;
const UNKNOWN_TOPIC = 3;
const NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20;
const INVALID_TRANSACTION_TIMEOUT = 50;

interface Leading {
  readonly protocol?: TransactionProtocol;
  /** Answers a Produce request, or throws. */
  readonly produce?: (options: ProduceOptions, count: number) => Promise<readonly number[]>;
}

/** A producer in its first transaction, where each topic has a leader of its own; and the requests that were sent. */
async function begun({ protocol = 1, produce = async () => await Promise.resolve([0]) }: Leading = {}) {
  const requests: string[] = [];
  let epoch = 7;
  const sent = (name: string): void => void requests.push(name);
  const broker: Partial<Broker> = {
    connectionPool: { isConnected: () => true },
    initProducerId: async () => await Promise.resolve({ producerId: '5', producerEpoch: epoch }),
    transactionProtocol: async () => await Promise.resolve(protocol),
    addPartitionsToTxn: async () => await Promise.resolve(sent('AddPartitionsToTxn')),
    async produceBatches(options) {
      const [produced] = options.topicPartitions;
      const header = produced?.batch[0] ?? Buffer.alloc(61);
      sent(`Produce ${produced?.topic} epoch ${header.readInt16BE(51)} sequence ${header.readInt32BE(53)}`);
      return await produce(options, requests.length);
    },
    async endTxn({ transactionResult }) {
      sent(transactionResult ? 'commit' : 'abort');
      if (protocol === 2) epoch += 1;
      return await Promise.resolve({ producerId: '5', producerEpoch: epoch });
    },
  };
  const cluster = {
    brokerPool: { metadata: {} },
    addMultipleTargetTopics: async () => await Promise.resolve(),
    refreshMetadata: async () => await Promise.resolve(sent('refresh')),
    findGroupCoordinator: async () => await Promise.resolve(broker),
    findLeaderForPartitions: (topic: string) => ({ [topic]: [0] }),
    findBroker: async () => await Promise.resolve(broker),
  };
  const producer = new TransactionalProducer({
    cluster: cluster as object as Cluster,
    transactionalId: 'lane',
    transactionTimeout: { ms: 60_000 },
  });
  await producer.fence();
  await producer.begin([PAGES, STATE]);
  return { producer, requests };
}

describe('a transactional producer', () => {
  it.each([
    { protocol: 1, next: 'epoch 7 sequence 10', announced: ['AddPartitionsToTxn'] },
    { protocol: 2, next: 'epoch 8 sequence 0', announced: [] },
  ] as const)(
    'numbers the records of each partition, from one transaction to the next: protocol $protocol',
    async ({ protocol, next, announced }) => {
      const { producer, requests } = await begun({ protocol });
      await producer.send(both);
      await producer.commit();
      await producer.begin([PAGES, STATE]);
      await producer.send(both);
      const first = ['Produce pages epoch 7 sequence 0', 'Produce state epoch 7 sequence 0', 'commit'];
      expect(requests).toEqual([...announced, ...first, ...announced, `Produce pages ${next}`, `Produce state ${next}`]);
    },
  );

  it('waits for all leaders before it fails: the next producer overtakes no request', async () => {
    const late = Promise.withResolvers<readonly number[]>();
    const { producer } = await begun({
      produce: async ({ topicPartitions: [produced] }) =>
        produced?.topic === 'pages'
          ? await late.promise
          : await Promise.reject(answeredError(NOT_ENOUGH_REPLICAS_AFTER_APPEND, { topic: 'state' })),
    });
    let failed = false;
    const sending = producer.send(both).catch(() => (failed = true));
    await new Promise(setImmediate);
    expect(failed).toBe(false);
    late.resolve([0]);
    await sending;
    expect(failed).toBe(true);
  });

  it('asks again, in the same words, where it is too early for the whole request, and not where for a part of it', async () => {
    const produced = (about: { readonly topic?: string }) =>
      begun({
        protocol: 2,
        produce: async (_, count) =>
          count === 1 ? await Promise.reject(answeredError(CONCURRENT_TRANSACTIONS, about)) : await Promise.resolve([3]),
      });
    const whole = await produced({});
    expect([...(await whole.producer.send([{ ...PAGES, batch }]))]).toEqual([['pages-0', 3]]);
    expect(whole.requests).toEqual(['Produce pages epoch 7 sequence 0', 'Produce pages epoch 7 sequence 0']);
    const part = await produced({ topic: 'pages' });
    await expect(part.producer.send([{ ...PAGES, batch }])).rejects.toMatchObject({ type: 'CONCURRENT_TRANSACTIONS' });
  });

  it.each([NOT_LEADER, UNKNOWN_TOPIC])(
    'sends a batch again under the same number after fresh metadata, and none that has been appended: error %i',
    async (code) => {
      let refusals = 0;
      const { producer, requests } = await begun({
        protocol: 2,
        produce: async ({ topicPartitions: [produced] }) => {
          if (produced?.topic === 'state' && refusals < 2) {
            refusals += 1;
            throw answeredError(code, { topic: 'state' });
          }
          return await Promise.resolve([4]);
        },
      });
      expect(Object.fromEntries(await producer.send(both))).toEqual({ 'pages-0': 4, 'state-0': 4 });
      const state = 'Produce state epoch 7 sequence 0';
      expect(requests).toEqual(['Produce pages epoch 7 sequence 0', state, 'refresh', state, 'refresh', state]);
      requests.length = 0;
      await producer.send([{ ...STATE, batch }]).catch(() => undefined);
      expect(requests).toEqual(['Produce state epoch 7 sequence 10']);
    },
  );

  it('sends nothing again where one leader refuses by stale metadata and another for a reason of its own', async () => {
    const { producer, requests } = await begun({
      protocol: 2,
      produce: async ({ topicPartitions: [produced] }) => {
        const code = produced?.topic === 'state' ? NOT_LEADER : NOT_ENOUGH_REPLICAS_AFTER_APPEND;
        return await Promise.reject(answeredError(code, { topic: produced?.topic ?? '' }));
      },
    });
    await expect(producer.send(both)).rejects.toThrow(AggregateError);
    expect(requests).toHaveLength(2);
  });

  it('halves the time-out of transactions until brokers take it, for all producers that share it, and never below a second', async () => {
    const tried: number[] = [];
    const transactionTimeout = { ms: 60_000 };
    const fence = async (mostMs: number): Promise<void> => {
      const coordinator: Partial<Broker> = {
        async initProducerId({ transactionTimeout: ms }) {
          tried.push(ms);
          if (ms > mostMs) throw answeredError(INVALID_TRANSACTION_TIMEOUT);
          return await Promise.resolve({ producerId: '5', producerEpoch: 0 });
        },
        transactionProtocol: async () => await Promise.resolve(2 as const),
      };
      const cluster = { brokerPool: { metadata: {} }, findGroupCoordinator: async () => await Promise.resolve(coordinator) };
      await new TransactionalProducer({ cluster: cluster as object as Cluster, transactionalId: 'lane', transactionTimeout }).fence();
    };
    await Promise.all([fence(20_000), fence(20_000)]);
    expect(tried).toEqual([60_000, 60_000, 30_000, 30_000, 15_000, 15_000]);
    tried.length = 0;
    await expect(fence(0)).rejects.toMatchObject({ type: 'INVALID_TRANSACTION_TIMEOUT' });
    expect(tried).toEqual([15_000, 7_500, 3_750, 1_875]);
  });
});
