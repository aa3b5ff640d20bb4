import { expect, it, vi } from 'vitest';
import { FakeCluster } from '../client/fake-cluster.fixture.ts';
import { COMPRESSIONS } from '../wire/codecs.ts';
import { RecordSender } from './record-sender.ts';
import { Places, type TransactionalProducer } from './transactional-producer.ts';
import { TransactionSession, type TransactionSessionOptions } from './transaction-session.ts';

const PAGE = { topic: 'pages', partition: 0, key: 'page' };

/** A session with a fake producer, whose methods do nothing unless `producer` replaces them. */
function sessionOf(producer: Partial<TransactionalProducer>, options: Partial<TransactionSessionOptions> = {}): TransactionSession {
  const nothing = async (): Promise<void> => await Promise.resolve();
  const sender = new RecordSender(COMPRESSIONS.none, () => 1_000);
  return new TransactionSession({
    producer: {
      fence: nothing,
      endAgain: nothing,
      begin: nothing,
      sendOffsets: nothing,
      commit: nothing,
      epoch: { producerId: '5', producerEpoch: 0 },
      ...producer,
    } as TransactionalProducer,
    cluster: new FakeCluster(() => ({ answer: new Map() })),
    sender,
    places: new Places(),
    noted: async () => await Promise.resolve([]),
    signal: new AbortController().signal,
    ...options,
  });
}

it('a session does nothing after an error, because the state of the brokers is unknown', async () => {
  let sent = 0;
  const session = sessionOf({
    async produce() {
      sent += 1;
      return await Promise.reject(new Error('gone'));
    },
  });
  const write = (): Promise<void> => session.write({ records: [{ ...PAGE, value: '0' }], offsets: [] });
  await expect(write()).rejects.toThrow('gone');
  for (const use of [write, () => session.settle(), () => session.begin()])
    await expect(use()).rejects.toThrow("A session can't be used after an error. Begin a new one.");
  expect(sent).toBe(1);
});

it('does not write again what it has found in the log', async () => {
  let sent = 0;
  const id = { incarnation: 'a', number: 1 };
  const note = { ...id, producerId: '5', producerEpoch: 0, parts: [], offsets: [] };
  const session = sessionOf(
    {
      async produce() {
        sent += 1;
        return await Promise.resolve(new Map([['pages-0', 0]]));
      },
    },
    {
      noted: async () => await Promise.resolve([{ id, isWhole: true, note, placed: new Map([['pages-0', [{ first: 7, count: 1 }]]]) }]),
    },
  );
  await session.begin();
  await session.write({ records: [{ ...PAGE, value: '0' }], offsets: [] }, { ...id });
  expect([sent, session.newest?.placed.get('pages-0')]).toEqual([0, [{ first: 7, count: 1 }]]);
});

it('does not ask whether a transaction has ended before a broker can have told its partitions', async () => {
  vi.useFakeTimers();
  try {
    let polls = 0;
    const cluster = new FakeCluster((api) => {
      if (api === 'ListOffsets') polls += 1;
      return { answer: new Map([['pages-0', 2]]) };
    });
    const session = sessionOf({ produce: async () => await Promise.resolve(new Map([['pages-0', 0]])) }, { cluster });
    await session.write({ records: [{ ...PAGE, value: '0' }], offsets: [] });
    const settled = session.settle();
    await vi.advanceTimersByTimeAsync(0);
    expect(polls).toBe(0);
    await vi.advanceTimersByTimeAsync(4);
    await settled;
    expect(polls).toBe(1);
    await session.settle();
    expect(polls).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});

it('a session rejects a leader that appends below what the transaction has written: the topic was recreated', async () => {
  const session = sessionOf({ produce: async () => await Promise.resolve(new Map([['pages-0', 0]])) });
  const records = ['0', '1'].map((letter) => ({ ...PAGE, value: letter.repeat(800) }));
  await expect(session.write({ records, offsets: [] })).rejects.toThrow(
    'Topic "pages" lost records while it was in use: it was deleted and recreated',
  );
});

it('a session writes nothing while a transaction may be open, and continues when a broker knows the partition again', async () => {
  const cluster = new FakeCluster((api) => ({
    answer: api === 'Metadata' ? { brokers: [{ nodeId: 1, host: 'any', port: 9092 }], topicMetadata: [] } : new Map(),
  }));
  let sent = 0;
  const session = sessionOf(
    {
      async produce() {
        sent += 1;
        return await Promise.resolve(new Map());
      },
    },
    { cluster, places: new Places().add({ topicPartitions: [PAGE] }) },
  );
  await session.begin();
  await expect(session.write({ records: [{ ...PAGE, value: '0' }], offsets: [] })).rejects.toThrow('This server does not host this topic');
  expect(sent).toBe(0);
});

it('waits until the group offsets of a transaction have ended too, and ends it again if that takes too long', async () => {
  const commit = { group: 'group', topic: 'requests', partition: 0, nextOffset: 1 };
  const asked: string[] = [];
  const committed = { isPending: true };
  const cluster = new FakeCluster((api, { showsPending }: { readonly showsPending?: boolean }) => {
    asked.push(showsPending === true ? `${api} with pending offsets` : api);
    return { answer: new Map(api === 'OffsetFetch' ? [['requests-0', { offset: 0, ...committed }]] : []) };
  });
  const endAgain: TransactionalProducer['endAgain'] = async ({ offsets }) => {
    asked.push(`end again ${offsets.length}`);
    committed.isPending = false;
    await Promise.resolve();
  };
  const session = sessionOf({ endAgain }, { cluster });
  vi.useFakeTimers();
  try {
    await session.write({ records: [], offsets: [commit] });
    const settled = session.settle();
    await vi.advanceTimersByTimeAsync(1_000);
    await settled;
  } finally {
    vi.useRealTimers();
  }
  expect(new Set(asked)).toEqual(new Set(['OffsetFetch with pending offsets', 'end again 1']));
  expect(asked.filter((each) => each === 'end again 1')).toHaveLength(1);
  expect(asked.at(-1)).toBe('OffsetFetch with pending offsets');
});
