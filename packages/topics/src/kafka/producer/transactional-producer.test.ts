import { describe, expect, it } from 'vitest';
import { FakeCluster } from '../client/fake-cluster.fixture.ts';
import type { Answered, Refusal } from '../requests/request.ts';
import type { ProduceOptions, TransactionProtocol } from '../requests/transactions.ts';
import { TransactionalProducer } from './transactional-producer.ts';

const PAGES = { topic: 'pages', partition: 0 };
const STATE = { topic: 'state', partition: 0 };
const batch = { records: Buffer.from('records'), count: 10, timestampMs: 0, codec: 0 };
const both = [PAGES, STATE].map((place) => ({ ...place, batch }));
const CONCURRENT_TRANSACTIONS = 51;
const NOT_LEADER = 6;
const UNKNOWN_TOPIC = 3;
const NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20;

interface Leading {
  readonly protocol?: TransactionProtocol;
  /** Returns the refusals of a Produce request, or throws. `count`: number of requests so far, including this one. */
  readonly produce?: (options: ProduceOptions, count: number) => readonly Refusal[] | Promise<readonly Refusal[]>;
}

/** Returns a producer in its first transaction, and the names of the requests that it sends. Each topic has its own leader. */
async function begun({ protocol = 1, produce = () => [] }: Leading = {}) {
  const requests: string[] = [];
  let epoch = 7;
  const sent = (name: string): void => void requests.push(name);
  const answers: Readonly<Record<string, (options: never) => Partial<Answered<unknown>> | Promise<Partial<Answered<unknown>>>>> = {
    InitProducerId: () => ({ answer: { producerId: '5', producerEpoch: epoch } }),
    ApiVersions: () => ({ answer: protocol }),
    AddPartitionsToTxn() {
      sent('AddPartitionsToTxn');
      return {};
    },
    async Produce(options: ProduceOptions) {
      const [produced] = options.topicPartitions;
      const header = produced?.batch[0] ?? Buffer.alloc(61);
      sent(`Produce ${produced?.topic} epoch ${header.readInt16BE(51)} sequence ${header.readInt32BE(53)}`);
      const refusals = await produce(options, requests.length);
      return { refusals, answer: new Map(refusals.length === 0 ? [[`${produced?.topic}-0`, 4]] : []) };
    },
    EndTxn({ transactionResult }: { readonly transactionResult: boolean }) {
      sent(transactionResult ? 'commit' : 'abort');
      if (protocol === 2) epoch += 1;
      return { answer: { producerId: '5', producerEpoch: epoch } };
    },
  };
  const cluster = new FakeCluster(
    (api, options) => answers[api]?.(options) ?? {},
    () => sent('refresh'),
  );
  const producer = new TransactionalProducer(cluster, 'lane', 60_000);
  await producer.fence();
  await producer.begin([PAGES, STATE]);
  requests.splice(0, requests.lastIndexOf('refresh') + 1);
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
      await producer.produce(both);
      await producer.commit();
      await producer.begin([PAGES, STATE]);
      await producer.produce(both);
      const first = ['Produce pages epoch 7 sequence 0', 'Produce state epoch 7 sequence 0', 'commit'];
      expect(requests).toEqual([...announced, ...first, ...announced, `Produce pages ${next}`, `Produce state ${next}`]);
    },
  );

  it('waits for all leaders before it fails, so that the next producer overtakes no request', async () => {
    const late = Promise.withResolvers<readonly Refusal[]>();
    const { producer } = await begun({
      produce: ({ topicPartitions: [produced] }) =>
        produced?.topic === 'pages' ? late.promise : [{ errorCode: NOT_ENOUGH_REPLICAS_AFTER_APPEND, topic: 'state' }],
    });
    let failed = false;
    const sending = producer.produce(both).catch(() => (failed = true));
    await new Promise(setImmediate);
    expect(failed).toBe(false);
    late.resolve([]);
    await sending;
    expect(failed).toBe(true);
  });

  it('repeats a request if it is too early for all partitions, but not if it is too early for only some', async () => {
    const produced = (about: { readonly topic?: string }) =>
      begun({ protocol: 2, produce: (_, count) => (count === 1 ? [{ errorCode: CONCURRENT_TRANSACTIONS, ...about }] : []) });
    const whole = await produced({});
    expect([...(await whole.producer.produce([{ ...PAGES, batch }]))]).toEqual([['pages-0', 4]]);
    expect(whole.requests).toEqual(['Produce pages epoch 7 sequence 0', 'Produce pages epoch 7 sequence 0']);
    const part = await produced({ topic: 'pages' });
    await expect(part.producer.produce([{ ...PAGES, batch }])).rejects.toMatchObject({ type: 'CONCURRENT_TRANSACTIONS' });
  });

  it.each([NOT_LEADER, UNKNOWN_TOPIC])(
    'sends a batch again under the same number after fresh metadata, and none that has been appended: error %i',
    async (errorCode) => {
      let refusals = 0;
      const { producer, requests } = await begun({
        protocol: 2,
        produce: ({ topicPartitions: [produced] }) =>
          produced?.topic === 'state' && refusals++ < 2 ? [{ errorCode, topic: 'state' }] : [],
      });
      expect(Object.fromEntries(await producer.produce(both))).toEqual({ 'pages-0': 4, 'state-0': 4 });
      const state = 'Produce state epoch 7 sequence 0';
      expect(requests).toEqual(['Produce pages epoch 7 sequence 0', state, 'refresh', state, 'refresh', state]);
      requests.length = 0;
      await producer.produce([{ ...STATE, batch }]);
      expect(requests).toEqual(['Produce state epoch 7 sequence 10']);
    },
  );

  it('sends nothing again if one leader refuses by stale metadata and another for a different reason', async () => {
    const { producer, requests } = await begun({
      protocol: 2,
      produce: ({ topicPartitions: [produced] }) => {
        const errorCode = produced?.topic === 'state' ? NOT_LEADER : NOT_ENOUGH_REPLICAS_AFTER_APPEND;
        return [{ errorCode, topic: produced?.topic ?? '' }];
      },
    });
    await expect(producer.produce(both)).rejects.toThrow(AggregateError);
    expect(requests).toHaveLength(2);
  });
});
