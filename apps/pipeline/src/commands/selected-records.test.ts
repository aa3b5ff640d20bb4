import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TopicLog, TopicRecord } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type RecordSelection, momentOf, newestPerKey, selectedRecords, valueLine } from './selected-records.ts';

const TOPIC = 'a.records';
const RECORDS = 6_000;
const STEP_MS = 1_000;

let log: TopicLog;
let now = 0;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-records-'));
  log = await sqliteTopicLog({ file: join(folder, 'log.db'), now: () => now });
  await log.createTopics([{ name: TOPIC, partitions: 2 }]);
  for (let i = 0; i < RECORDS; i += 500) {
    now = (i / 500) * 500 * STEP_MS;
    await log.append(Array.from({ length: 500 }, (_, j) => record(i + j)));
  }
  return async () => {
    await log.close();
    await rm(folder, { recursive: true });
  };
});

/** Two thirds of the records are in partition 0. */
function record(i: number) {
  return { topic: TOPIC, partition: i % 3 === 0 ? 1 : 0, key: `k${i % 5}`, value: String(i) };
}

async function* selected(selection: RecordSelection, name = TOPIC): AsyncGenerator<number, void, undefined> {
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const [topic] = await log.listTopics([name]);
  if (topic === undefined) return;
  for await (const { value } of selectedRecords(log, topic, selection, over.signal)) yield Number(value && Buffer.from(value).toString());
}

const values = (selection: RecordSelection, name?: string): Promise<number[]> => Array.fromAsync(selected(selection, name));

const sorted = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);
const upTo = (from: number): number[] => Array.from({ length: RECORDS - from }, (_, i) => from + i);

describe('records of a topic', () => {
  it('with a key', async () => {
    expect(sorted(await values({ key: 'k3' }))).toEqual(upTo(0).filter((i) => i % 5 === 3));
    expect(await values({ key: 'k' })).toEqual([]);
  });

  it('since a time: searched, and exact', async () => {
    for (const at of [0, 1_000, 2_500, 5_500]) expect(sorted(await values({ sinceMs: at * STEP_MS })), String(at)).toEqual(upTo(at));
    expect(sorted(await values({ sinceMs: 2_500 * STEP_MS + 1 }))).toEqual(upTo(3_000));
    expect(await values({ sinceMs: 10 ** 15 })).toEqual([]);
    expect(sorted(await values({ sinceMs: 0, from: 1_000 }))).toEqual(sorted(await values({ from: 1_000 })));
  });

  it('the last N, although times within a partition descend', async () => {
    await log.createTopics([{ name: 'a.late', partitions: 2 }]);
    const hours = [
      [0, 12],
      [0, 10],
      [1, 11],
    ] as const;
    for (const [partition, hour] of hours) {
      now = hour * 3_600_000;
      await log.append([{ topic: 'a.late', partition, key: 'k', value: String(hour) }]);
    }
    expect(await values({ tail: 1 }, 'a.late')).toEqual([10, 11]);
  });

  it('the last N of each partition, with a key, too', async () => {
    const last = (count: number, fits: (i: number) => boolean): number[] =>
      [0, 1].flatMap((partition) =>
        upTo(0)
          .filter((i) => Number(i % 3 === 0) === partition && fits(i))
          .slice(-count),
      );
    expect(await values({ tail: 500 })).toEqual(last(500, () => true));
    expect(await values({ tail: 1 })).toEqual([5_999, 5_997]);
    expect(await values({ tail: 2_000, key: 'k1' })).toEqual(last(2_000, (i) => i % 5 === 1));
    expect(await values({ tail: 100, key: 'k2' })).toEqual(last(100, (i) => i % 5 === 2));
    expect(await values({ tail: 0 })).toEqual([]);
    expect(sorted(await values({ tail: 10 ** 9 }))).toEqual(upTo(0));
    expect(sorted(await values({ tail: 10 ** 9, sinceMs: 5_000 * STEP_MS }))).toEqual(upTo(5_000));
  });
});

it('since a time, including records from before the clock was set back', async () => {
  const topic = 'b.records';
  await log.createTopics([{ name: topic, partitions: 1 }]);
  const kept = now;
  for (const [at, count] of [
    [10 * 3_600_000, 2_000],
    [12 * 3_600_000, 2_000],
    [10 * 3_600_000, 5_000],
  ] as const) {
    now = at;
    await log.append(Array.from({ length: count }, () => ({ topic, key: 'k', value: '1' })));
  }
  now = kept;
  const [found] = await log.listTopics([topic]);
  if (found === undefined) throw new Error('no topic');
  const over = new AbortController();
  expect(await Array.fromAsync(selectedRecords(log, found, { sinceMs: 11 * 3_600_000 }, over.signal))).toHaveLength(2_000);
});

it('follows after the last N, without repeating them', async () => {
  now += 1;
  await log.append([RECORDS, RECORDS + 1, RECORDS + 2].map(record));
  const found: number[] = [];
  for await (const i of selected({ tail: 1, follow: true })) {
    found.push(i);
    if (found.length === 2) await log.append([RECORDS + 3, RECORDS + 4].map(record));
    if (found.length === 4) break;
  }
  expect([new Set(found).size, found.filter((i) => i <= RECORDS + 2).length, found.every((i) => i >= RECORDS)]).toEqual([4, 2, true]);
});

it('follows from the first record of a partition that is added while the existing records are read', async () => {
  const topic = 'grown.records';
  await log.createTopics([{ name: topic, partitions: 1 }]);
  const records = (partition: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ topic, partition, key: 'k', value: String(100 * partition + i) }));
  await log.append(records(0, 3));
  const found: number[] = [];
  for await (const i of selected({ sinceMs: 0, follow: true }, topic)) {
    found.push(i);
    if (found.length === 1) {
      await log.createTopics([{ name: topic, partitions: 2 }]);
      await log.append(records(1, 5));
    }
    if (i === 104) break;
  }
  expect(found).toEqual([0, 1, 2, 100, 101, 102, 103, 104]);
});

it('a time is a duration before now, or ISO 8601', () => {
  const at = Date.parse('2026-11-22T10:00:00Z');
  expect(momentOf('15m', at)).toBe(at - 900_000);
  expect(momentOf('2026-11-22T10:00Z', 0)).toBe(at);
  expect(momentOf('2026-11-22 11:00:00.5+01:00', 0)).toBe(at + 500);
  expect(momentOf('2026-11-22', 0)).toBe(new Date(2026, 10, 22).getTime());
  for (const wrong of ['', '15', 'yesterday', '2026-13-22', '2026-02-30', '2025-02-29', '22.11.2026', '2026-11-22T10'])
    expect(() => momentOf(wrong, 0)).toThrow('is neither a duration, as in 15m or 24h, nor a time, as in 2026-11-22T10:00:00Z.');
});

it('a value is a line of JSON, whatever it is', () => {
  const lines = ['{"id":9007199254740993}', 'text', 'two\nlines', ''].map((text) => valueLine(Buffer.from(text)));
  expect([...lines, valueLine(null), valueLine(Uint8Array.of(0xff))]).toEqual([
    '{"id":9007199254740993}',
    '"text"',
    '"two\\nlines"',
    '""',
    'null',
    '{"value_base64":"/w=="}',
  ]);
});

it('the newest record of each key: by offset within a partition, by time between two; without keys that are deleted', async () => {
  const bytes = (text: string | null) => (text === null ? null : Buffer.from(text));
  let offset = 0;
  const of = (key: string | null, value: string | null, timestampMs: number, partition = 0): TopicRecord<Uint8Array> => {
    offset += 1;
    return { topic: TOPIC, partition, offset, timestampMs, key: bytes(key), headers: {}, value: bytes(value) };
  };
  async function* records() {
    yield of('a', 'a1', 1);
    yield of('b', 'b1', 1);
    yield of(null, 'one', 1);
    yield of('c', 'c1', 9);
    yield of('c', 'c2', 5);
    yield of('a', 'a2', 2);
    yield of('b', null, 2);
    yield of('gone', 'g', 2);
    yield of('gone', null, 3);
    yield of(null, null, 3);
    yield await Promise.resolve(of('a', 'a0', 1, 1));
    yield of('c', 'c3', 5, 1);
    yield of('b', 'b3', 2, 1);
  }
  const found = await Array.fromAsync(newestPerKey(records()), ({ value }) => value && Buffer.from(value).toString());
  expect(found).toEqual(['one', 'a2', null, 'c3', 'b3']);
});
