import { expect, test } from 'vitest';
import { FakeCluster } from '../client/fake-cluster.fixture.ts';
import { stored } from '../wire/any-batch.fixture.ts';
import { fetchBatches, fetchRecords, nextMaxBytes } from './fetch.ts';

const KB = 1_024;

test('a response of many small records makes the next fetch smaller, and one of a few large records larger, within limits', () => {
  const after = (records: number, maxBytes: number, answers: number): number =>
    Array.from({ length: answers }).reduce((bytes: number) => nextMaxBytes({ maxBytes: bytes, records }), maxBytes);
  expect(nextMaxBytes()).toBe(128 * KB);
  expect(after(20_000, 512 * KB, 1)).toBe(256 * KB);
  expect(after(20_000, 512 * KB, 9)).toBe(64 * KB);
  expect(after(100, 128 * KB, 1)).toBe(256 * KB);
  expect(after(100, 128 * KB, 9)).toBe(4_096 * KB);
});

test('a response of some thousand records, or of none, keeps the fetch size', () => {
  for (const records of [0, 5_000, 10_000]) expect(nextMaxBytes({ maxBytes: 128 * KB, records })).toBe(128 * KB);
});

const PLACE = { topic: 'pages', partition: 0 };
const FETCH = { ...PLACE, offset: 3, maxWaitMs: 0 };

/** A cluster whose responses to a fetch have these fields. `asked`: what was asked, in order. */
function fetching(cleanupPolicy: string, fields: (count: number) => object) {
  const asked: string[] = [];
  const cluster = new FakeCluster((api) => {
    asked.push(api);
    if (api === 'DescribeConfigs') return { answer: new Map([['pages', new Map([['cleanup.policy', cleanupPolicy]])]]) };
    const data = { highWatermark: 9, lastStable: 8, aborted: [], batches: Buffer.alloc(0), ...fields(asked.length) };
    return { answer: 'throttled' in data ? new Map() : new Map([['pages-0', data]]) };
  });
  return { cluster, asked };
}

test('where compaction has removed all records up to the end, a reader continues there at once', async () => {
  const { cluster, asked } = fetching('compact', () => ({}));
  expect(await fetchRecords(cluster, FETCH)).toEqual({ records: [], aborted: [], next: 8, lastStable: 8 });
  expect(await fetchRecords(cluster, { ...FETCH, isolationLevel: 0 })).toMatchObject({ next: 9 });
  expect(asked).toEqual(['Fetch', 'DescribeConfigs', 'Fetch', 'DescribeConfigs']);
});

test('a response without batches below the end is never taken for a gap in another topic', async () => {
  const { cluster, asked } = fetching('delete', () => ({}));
  await expect(fetchBatches(cluster, FETCH)).rejects.toThrow('did not return the committed records at pages-0:3');
  expect(asked.filter((api) => api === 'Fetch')).toHaveLength(1);
});

test('a response without batches at the end, or one that is throttled, needs no look at the topic', async () => {
  const { cluster, asked } = fetching('delete', (count) => (count < 3 ? { throttled: true } : { lastStable: 3 }));
  expect(await fetchRecords(cluster, FETCH)).toMatchObject({ next: 3 });
  expect(asked).toEqual(['Fetch', 'Fetch', 'Fetch']);
});

test('batches of aborted transactions are told apart where transactions overlap, and end markers and earlier offsets are left out', async () => {
  const batch = (firstOffset: number, producer: number, isControl = false, count = isControl ? 1 : 2) => ({
    firstOffset,
    lastOffsetDelta: count - 1,
    firstMs: 0n,
    maxMs: 0n,
    producerId: BigInt(producer),
    producerEpoch: 0,
    firstSequence: 0,
    isStamped: false,
    isTransactional: producer >= 0,
    isControl,
    compression: 'none' as const,
    records: [0, 1].slice(0, count).map((offsetDelta) => {
      return { offsetDelta, msDelta: 0n, key: Buffer.from([0, 0, 0, 0]), value: Buffer.from('v'), headers: [] };
    }),
  });
  // Producer 1 aborts, then commits. Producer 2 aborts around that. Producer -1 has no transactions.
  const log = [
    batch(2, 1),
    batch(4, 2),
    batch(6, -1),
    batch(8, 1, true),
    batch(9, 1),
    batch(11, 2, true),
    batch(12, 1, true),
    batch(13, 2),
    batch(15, 3, false, 1),
  ];
  const aborted = [
    { producerId: '2', firstOffset: 4 },
    { producerId: '3', firstOffset: 15 },
    { producerId: '1', firstOffset: 2 },
  ];
  const { cluster } = fetching('delete', () => ({ lastStable: 16, aborted, batches: Buffer.concat(log.map(stored)) }));
  const found = await fetchRecords(cluster, FETCH);
  expect(found.records.map(({ offset }) => offset)).toEqual([6, 7, 9, 10, 13, 14]);
  expect(found.aborted.map(({ offset }) => offset)).toEqual([3, 4, 5, 15]);
  expect(found.next).toBe(16);
});
