import { expect, test, vi } from 'vitest';
import { Backoff } from '../../backoff.ts';
import { TopicUnknownError } from '../../topic-errors.ts';
import type { Cluster } from '../client/cluster.ts';
import { isTopicUnknown } from '../client/error-kinds.ts';
import { patience } from '../client/patience.ts';
import type { ReconnectingClient } from '../client/reconnecting-client.ts';
import type { TransactionSession } from '../producer/transaction-session.ts';
import { KafkaLaneWriter, type KafkaLaneWriterOptions } from './lane-writer.ts';

/** Duration of a take over a slow link. */
const TAKES_MS = 6_000;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
const UNKNOWN = Object.assign(new Error('This server does not host this topic-partition'), { type: 'UNKNOWN_TOPIC_OR_PARTITION' });

const FENCED = Object.assign(new Error('fenced'), { type: 'INVALID_PRODUCER_EPOCH' });

test.for([
  { what: 'a broker', fault: UNKNOWN },
  { what: 'a reading', fault: new TopicUnknownError({ topic: 'state', partition: null, partitions: null }, { cause: UNKNOWN }) },
])('a lane survives if $what takes an existing topic for missing', async ({ fault }) => {
  let looks = 0;
  const lane = await writer({
    look: async () => {
      looks += 1;
      await (looks === 1 ? Promise.reject(fault) : Promise.resolve());
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

interface Parts {
  readonly look?: () => Promise<void>;
  readonly begin?: () => Promise<void>;
  readonly write?: () => Promise<void>;
  readonly unavailable?: (reason: string) => void;
}

async function writer({ look, begin, write, unavailable = () => undefined }: Parts): Promise<KafkaLaneWriter> {
  const nothing = async (): Promise<void> => await Promise.resolve();
  const session = { begin: begin ?? nothing, write: write ?? nothing, settle: nothing, disconnect: nothing };
  const client: Pick<ReconnectingClient<Cluster>, 'once'> = { once: (look ?? nothing) as () => Promise<never> };
  const options: KafkaLaneWriterOptions = {
    lane: { name: 'lane', state: { topic: 'state', partition: 0 } },
    log: 'log',
    session: () => session as object as TransactionSession,
    client: client as ReconnectingClient<Cluster>,
    patience: patience({
      watcher: { unavailable, available: () => undefined, abandoned: () => undefined },
      failureText: String,
      waitsForRights: false,
    }),
    placed: async (content) => await Promise.resolve(content),
    explained: async (fault) => await Promise.resolve(isTopicUnknown(fault) ? UNKNOWN : fault),
    member: () => undefined,
    skewMs: () => 0,
    onClose: () => undefined,
  };
  return await Promise.resolve(new KafkaLaneWriter(options));
}
