import { expect, test, vi } from 'vitest';
import { Backoff } from '../../backoff.ts';
import { MissingRightError } from '../../missing-right-error.ts';
import type { LaneTransaction } from '../../topic-log.ts';
import { answeredError } from '../client/answered-error.ts';
import { Client } from '../client/client.ts';
import type { Cluster } from '../client/cluster.ts';
import { plainConfig } from '../client/plain-cluster.fixture.ts';
import type { TransactionId } from '../producer/transaction-law.ts';
import type { TransactionSession } from '../producer/transaction-session.ts';
import { LaneLog } from './lane-log.ts';
import { KafkaLaneWriter, type KafkaLaneWriterOptions } from './lane-writer.ts';

/** Duration of a take over a slow link. */
const TAKES_MS = 6_000;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
const UNKNOWN = answeredError(3);

const FENCED = answeredError(47);

test('a lane survives if a broker takes an existing topic for missing', async () => {
  let looks = 0;
  const lane = await writer({
    look: async () => {
      looks += 1;
      await (looks === 1 ? Promise.reject(UNKNOWN) : Promise.resolve());
    },
  });
  await lane.open();
  expect(looks).toBeGreaterThan(1);
});

test('a lane that is closed while it reconnects writes nothing afterwards', async () => {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let written = 0;
  const lane = await writer({
    begin: async () => {
      reached.resolve();
      await gate.promise;
    },
    write: async () => {
      written += 1;
      await Promise.resolve();
    },
  });
  const opening = lane.open();
  opening.catch(() => undefined);
  await reached.promise;
  await lane.close();
  gate.resolve();
  await expect(opening).rejects.toThrow('closed');
  await new Promise(setImmediate);
  expect(written).toBe(0);
});

test('a holder that was fenced leaves its successor the time to show that it has taken the lane', async () => {
  const pausesMs: number[] = [];
  const nextMs = Reflect.get(Backoff.prototype, 'nextMs');
  vi.spyOn(Backoff.prototype, 'nextMs').mockImplementation(function (this: Backoff) {
    pausesMs.push(nextMs.call(this));
    return 0;
  });
  try {
    let takes = 0;
    const lane = await writer({
      begin: async () => {
        takes += 1;
        await Promise.resolve();
        if (takes === 1) throw FENCED;
      },
    });
    await lane.open();
    expect(takes).toBe(2);
    expect(Math.max(...pausesMs)).toBeGreaterThanOrEqual(375);
  } finally {
    vi.restoreAllMocks();
  }
});

test('three processes that take a lane at once over a slow link leave each other the time for it', async () => {
  vi.useFakeTimers();
  let seed = 1;
  vi.spyOn(Math, 'random').mockImplementation(() => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647);
  try {
    let takes = 0;
    const reported: unknown[] = [];
    const begin = async (): Promise<void> => {
      const take = (takes += 1);
      await sleep(TAKES_MS);
      if (take !== takes) throw FENCED;
    };
    const lanes = await Promise.all([1, 2, 3].map(() => writer({ begin, unavailable: (reason) => void reported.push(reason) })));
    let opened = 0;
    for (const lane of lanes) void lane.open().then(() => (opened += 1));
    while (opened < lanes.length && takes < 200) await vi.advanceTimersByTimeAsync(TAKES_MS);
    expect(opened).toBe(lanes.length);
    expect(takes).toBeLessThan(30);
    // No outage is reported, because the brokers respond.
    expect(reported).toEqual([]);
  } finally {
    vi.restoreAllMocks();
    vi.useRealTimers();
  }
});

const LANE = { name: 'lane', state: { topic: 'state', partition: 0 } };
const REFUSED = new MissingRightError([{ operation: 'Write', kind: 'transactional id', name: 'lane' }]);
const at = (page: string) => (tx: LaneTransaction) => tx.checkpoint('page', page);

test('a transaction that the log has counts, although its writer got an error', async () => {
  let newest: TransactionId | undefined;
  const lane = await writer({
    newest: () => newest && { id: newest },
    write: async (_, id) => {
      newest = id;
      await Promise.reject(REFUSED);
    },
  });
  await lane.open();
  await lane.transaction(at('1'));
  expect(lane.state.get('page')).toBe('1');
});

test('a transaction that throws wrote nothing, and a later one continues', async () => {
  let refused = true;
  const written: unknown[] = [];
  const lane = await writer({
    write: async ({ records }) => {
      if (refused) await Promise.reject(REFUSED);
      written.push(...records);
    },
  });
  await lane.open();
  await expect(lane.transaction(at('1'))).rejects.toBe(REFUSED);
  refused = false;
  await lane.transaction(at('2'));
  expect(written).toMatchObject([{ key: 'page', value: '2' }]);
});

test('after a transaction whose outcome is unknown, a lane writes nothing until it is opened again', async () => {
  let refused = false;
  let writes = 0;
  const lane = await writer({
    begin: async () => await (refused ? Promise.reject(REFUSED) : Promise.resolve()),
    write: async () => {
      writes += 1;
      refused = true;
      await Promise.reject(REFUSED);
    },
  });
  await lane.open();
  await expect(lane.transaction(at('1'))).rejects.toBe(REFUSED);
  refused = false;
  for (const page of ['2', '3']) {
    await expect(lane.transaction(at(page))).rejects.toMatchObject({ code: 'HEADGATE_TOPIC_LOG_FAILED', cause: REFUSED });
  }
  expect(writes).toBe(1);
  expect(lane.state.get('page')).toBeUndefined();
});

test('a lane names its new member after the process has joined the group again', async () => {
  let member: string | undefined = 'm1';
  const written: unknown[][] = [];
  const lane = await writer({
    member: () => (member === undefined ? undefined : { group: 'g', id: member }),
    write: async ({ records }, id) => {
      written.push([id?.number, ...records]);
      await Promise.resolve();
    },
  });
  await lane.open();
  member = undefined;
  await lane.transaction(at('1'));
  member = 'm2';
  await lane.transaction(at('2'));
  await lane.transaction(at('3'));
  const holder = { ...LANE.state, key: '$lane/lane/holder', value: expect.stringContaining('"id":"m2"') as string };
  // The holder record has no number, because nobody may write it again.
  expect(written).toMatchObject([
    [1, { value: '1' }],
    [undefined, holder],
    [2, { value: '2' }],
    [3, { value: '3' }],
  ]);
});

test('a close does not wait for the partitions of a transaction that cannot be looked up', async () => {
  vi.useFakeTimers();
  try {
    const lane = await writer({ placed: () => new Promise(() => undefined) });
    await lane.open();
    const transaction = lane.transaction(at('1'));
    transaction.catch(() => undefined);
    const closing = lane.close();
    await vi.advanceTimersByTimeAsync(2_000);
    await closing;
    await expect(transaction).rejects.toMatchObject({ code: 'HEADGATE_TOPIC_LOG_CLOSED' });
  } finally {
    vi.useRealTimers();
  }
});

test('the end of a transaction is confirmed before anything follows it, also when the lane is closed meanwhile', async () => {
  const steps: string[] = [];
  const confirming = Promise.withResolvers<void>();
  const lane = await writer({
    write: async ({ records }) => {
      steps.push(`writes ${records.length} records`);
      await Promise.resolve();
    },
    settle: async () => {
      steps.push('confirms');
      if (steps.length === 2) await confirming.promise;
      steps.push('is confirmed');
    },
  });
  await lane.open();
  const closing = Promise.withResolvers<void>();
  const transaction = lane.transaction((tx) => {
    at('1')(tx);
    void lane.close().then(closing.resolve);
  });
  await transaction;
  await new Promise(setImmediate);
  expect(steps).toEqual(['writes 1 records', 'confirms']);
  confirming.resolve();
  await closing.promise;
  expect(steps).toEqual(['writes 1 records', 'confirms', 'is confirmed', 'writes 1 records', 'confirms', 'is confirmed']);
});

interface Parts {
  readonly look?: () => Promise<void>;
  readonly begin?: () => Promise<void>;
  readonly write?: TransactionSession['write'];
  readonly settle?: TransactionSession['settle'];
  readonly newest?: () => { readonly id: TransactionId } | undefined;
  readonly placed?: KafkaLaneWriterOptions['placed'];
  readonly member?: KafkaLaneWriterOptions['member'];
  readonly unavailable?: (reason: string) => void;
}

async function writer(parts: Parts): Promise<KafkaLaneWriter> {
  const { look, begin, write, settle, newest = () => undefined, placed, member = () => undefined, unavailable = () => undefined } = parts;
  const nothing = async (): Promise<void> => await Promise.resolve();
  const session = {
    connect: nothing,
    begin: begin ?? nothing,
    write: write ?? nothing,
    settle: settle ?? nothing,
    close: () => undefined,
    get newest() {
      return newest();
    },
  };
  vi.spyOn(LaneLog.prototype, 'readToEnd').mockImplementation(look ?? nothing);
  const watcher = { unavailable, available: () => undefined, abandoned: () => undefined };
  const options: KafkaLaneWriterOptions = {
    lane: LANE,
    log: 'log',
    session: () => session as object as TransactionSession,
    client: new Client({ config: { ...plainConfig([]), availability: { watcher: () => watcher, close: () => undefined } } } as Cluster),
    placed: placed ?? (async (content) => await Promise.resolve(content)),
    member,
    skewMs: () => 0,
    onClose: () => undefined,
  };
  return await Promise.resolve(new KafkaLaneWriter(options));
}
