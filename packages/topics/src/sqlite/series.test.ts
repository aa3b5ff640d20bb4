import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { partitionForKey } from '../partition-for-key.ts';
import type { NewRecord, RecordSeries, TopicLog, TopicRecord } from '../topic-log.ts';
import { startChild } from './child.fixture.ts';
import { parsedHeaders } from './headers-json.ts';
import { sqliteTopicLog } from './index.ts';
import { LogStore } from './log-store.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';
import { partitionOf } from './topic-table.ts';
import type { RecordChunk } from './worker-protocol.ts';

type Field = string | Uint8Array;
type Fields = Pick<NewRecord, 'key' | 'value' | 'headers'>;

/** Texts of these code units in any order. They can contain lone surrogates, which are stored as U+FFFD. */
const units = (...codes: number[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...codes), { maxLength: 5 }).map((all) => String.fromCharCode(...all));
const AWKWARD = [0x61, 0xd83d, 0xde00, 0x22, 0x5c, 0x1f, 0x2028];
const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 5 }), units(0, ...AWKWARD));
const field: fc.Arbitrary<Field> = fc.oneof({ weight: 4, arbitrary: text }, { weight: 1, arbitrary: fc.uint8Array({ maxLength: 5 }) });
const alike = fc
  .tuple(text, fc.array(units(...AWKWARD), { maxLength: 60 }), text)
  .map(([before, all, after]) => all.map((middle) => before + middle + after));
const values = fc.oneof(fc.array(field, { maxLength: 30 }), alike);
/**
 * Names of headers, without backslashes. V8 13.6 mistakes an escaped name for an earlier one with a backslash at the same place: JSON.parse of
 * `{"a":0,"\\\\":0}`, then of `{"a":0,"\\n":0}`.
 */
const name = text.filter((one) => !one.includes('\\'));
const common = { partition: fc.nat(1), key: fc.option(field), headers: fc.dictionary(name, field, { maxKeys: 2, noNullPrototype: true }) };
const appended = fc.oneof(
  fc.record({ ...common, value: fc.option(field) }),
  fc
    .record({ ...common, values })
    .map(({ values: all, ...rest }) => ({ ...rest, count: all.length, valueAt: (i: number) => all[i] ?? '' })),
);

describe('a series of the sqlite driver', () => {
  it('is read record by record from any offset, by the driver and by SQL, whatever it and its neighbors contain', async () => {
    const { file, log, lane } = await openedLog();
    using db = new DatabaseSync(file, { readOnly: true });
    let run = 0;
    const transactions = fc.array(fc.array(appended, { maxLength: 6 }), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(transactions, fc.array(fc.nat(150), { maxLength: 3 }), async (given, offsets) => {
        const topic = `topic-${run++}`;
        await log.createTopics([{ name: topic, partitions: 2 }]);
        for (const records of given) await lane.transaction((tx) => tx.append(records.map((each) => ({ topic, ...each }))));
        for (const partition of [0, 1]) {
          const own = given.flat().filter((each) => each.partition === partition);
          const expected = own.flatMap(recordsOf).map((each, offset) => [offset, ...shown(each)]);
          expect(selected(db, topic, partition)).toEqual(expected);
          expect((await log.listTopics([topic]))[0]?.offsets[partition]).toEqual({ earliest: 0, end: expected.length });
          for (const from of [0, ...offsets]) {
            const found = await Array.fromAsync(log.readBytes({ topic, partitions: [partition], from }));
            expect(found.map((each) => [each.offset, ...shown(each)])).toEqual(expected.slice(from));
          }
        }
      }),
      { numRuns: 60 },
    );
    expect(db.prepare('SELECT count(*) AS rows FROM batches WHERE count > 1').get()?.['rows']).toBeGreaterThan(30);
  });

  it.each([
    { name: 'of more records than a row of the file holds', count: 25_001, valueAt: (i: number) => `{"n":${i}}` },
    { name: 'of more characters than a row of the file holds', count: 30, valueAt: (i: number) => `${i}`.padEnd(150_000, 'x') },
  ])('$name is read whole, and from its middle', async ({ count, valueAt }) => {
    const { file, log, lane } = await openedLog();
    await log.createTopics([{ name: 'topic', partitions: 1 }]);
    await lane.transaction((tx) => tx.append([{ topic: 'topic', key: 'k', count, valueAt }]));
    const expected = Array.from({ length: count }, (_, index) => [index, valueAt(index)]);
    expect((await read(log, 'topic', 0)).map(({ offset, value }) => [offset, value])).toEqual(expected);
    const middle = Math.floor(count / 2);
    expect((await read(log, 'topic', middle)).map(({ offset, value }) => [offset, value])).toEqual(expected.slice(middle));
    using db = new DatabaseSync(file, { readOnly: true });
    const rows = db.prepare('SELECT count, length(value) AS length FROM batches').all();
    expect(rows.length).toBeGreaterThan(2);
    expect(rows.length).toBeLessThan(6);
    for (const row of rows) expect([Number(row['count']) <= 10_000, Number(row['length']) < 1_200_000]).toEqual([true, true]);
  });

  it('is passed to a reader row by row, and records of a topic with gaps aren’t passed one by one', async () => {
    const { file, log, lane } = await openedLog();
    await log.createTopics([{ name: 'topic', partitions: 1 }]);
    await lane.transaction((tx) => {
      tx.append([{ topic: 'topic', key: 'k', count: 25_001, valueAt: String }]);
      tx.append(['a', ...Array.from({ length: 3_000 }, () => 'b'), 'c'].map((key) => ({ topic: 'state', partition: 0, key, value: 'v' })));
    });
    const store = new LogStore({ file, busyTimeoutMs: 0, tombstoneRetentionMs: 0, maxFileBytes: 0 });
    onTestFinished(() => store.close());
    const chunk = (topic: string, from: number): RecordChunk => store.records.chunk(partitionOf(store.topics.get(topic), 0), from, 25_001);
    expect([chunk('topic', 0), chunk('topic', 12_345)].map(({ offsets, next }) => [offsets, next])).toEqual([
      [[0], 10_000],
      [[10_000], 20_000],
    ]);
    expect(chunk('state', 0).offsets).toEqual([0, 3_000, 3_001]);
  });

  it('of a page of IDs takes 24 bytes per ID and one row', async () => {
    const { file, log, lane } = await openedLog();
    await log.createTopics([{ name: 'ids', partitions: 1 }]);
    const count = 5_000;
    const valueAt = (index: number): string => `{"user":"@alpha","page":7,"id":"${18_446_744_073_709_500_000n + BigInt(index * 7)}"}`;
    for (let page = 0; page < 4; page++) {
      await lane.transaction((tx) => tx.append([{ topic: 'ids', key: '@alpha', count, valueAt }]));
    }
    using db = new DatabaseSync(file, { readOnly: true });
    const [found] = db.prepare('SELECT count(*) AS rows, sum(length(value)) AS bytes FROM batches WHERE prefix IS NOT NULL').all();
    expect(found?.['rows']).toBe(4);
    expect(Number(found?.['bytes']) / (4 * count)).toBeLessThan(24);
    expect(db.prepare("SELECT count(*) AS records, min(offset), max(offset) FROM records WHERE topic = 'ids'").get()).toEqual({
      records: 4 * count,
      'min(offset)': 0,
      'max(offset)': 4 * count - 1,
    });
  });

  it('on a compacted topic leaves only its last record, and all offsets', async () => {
    const { log, lane } = await openedLog();
    const record = { topic: 'compacted', partition: 0, key: 'k' };
    await log.createTopics([{ name: 'compacted', partitions: 1, compacted: true }]);
    const other = { ...record, key: 'other' };
    await lane.transaction((tx) =>
      tx.append([
        { ...other, value: 'o' },
        { ...record, value: 'first' },
        { ...record, count: 5, valueAt: String },
      ]),
    );
    await lane.transaction((tx) => tx.append([{ ...other, value: 'behind' }]));
    for (const from of [0, 6, 7]) {
      const found = await read(log, 'compacted', from);
      const all = [
        [6, 'k', '4'],
        [7, 'other', 'behind'],
      ];
      expect(found.map(({ offset, key, value }) => [offset, key, value])).toEqual(all.filter(([offset]) => Number(offset) >= from));
    }
    const keyless = lane.transaction((tx) => tx.append([{ ...record, key: null, count: 5, valueAt: String }]));
    await expect(keyless).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_INVALID_RECORD' }));
  });

  it('doesn’t remove a later record of the same key from the state', async () => {
    await using log = await sqliteTopicLog({ file: join(temporaryFolder(), 'log.db') });
    await log.createTopics([
      { name: 'state', partitions: 5, compacted: true },
      { name: 'topic', partitions: 1 },
    ]);
    const partition = partitionForKey('k', 5);
    expect(partition).not.toBe(0);
    const lane = await log.openLane({ name: 'lane', state: { topic: 'state', partition } });
    await lane.transaction((tx) => {
      tx.append([{ topic: 'topic', key: 'k', count: 10_001, valueAt: String }]);
      tx.append([{ topic: 'state', key: 'k', value: 'v' }]);
    });
    expect([...lane.state]).toEqual([['k', 'v']]);
  });

  it('is atomic for readers in other processes, by the driver and by SQL', async () => {
    const file = join(temporaryFolder(), 'log.db');
    const writer = startChild({ script: new URL('./crashing-writer.fixture.ts', import.meta.url), args: [file, '20', '3000'] });
    await writer.line('open');
    await using log = await sqliteTopicLog({ file });
    using db = new DatabaseSync(file, { readOnly: true });
    const rows = db.prepare("SELECT count(*) AS rows FROM records WHERE topic = 'ids' AND partition = 2");
    const counts = new Set<number>();
    let offset = 0;
    for await (const record of log.read({ topic: 'ids', partitions: [2], follow: true })) {
      expect([record.offset, record.key, record.value]).toEqual([offset, '@alpha', `${Math.floor(offset / 3_000) + 1}/${offset % 3_000}`]);
      if (offset % 3_000 === 0) counts.add(Number(rows.get()?.['rows']));
      offset += 1;
      // The writer never stops, so end the loop after some transactions.
      if (counts.size === 5 && offset % 3_000 === 0) break;
    }
    await writer.kill();
    expect([...counts].filter((count) => count % 3_000 !== 0)).toEqual([]);
  });
});

async function openedLog() {
  const file = join(temporaryFolder(), 'log.db');
  const log = await sqliteTopicLog({ file });
  onTestFinished(() => log.close());
  await log.createTopics([{ name: 'state', partitions: 1, compacted: true }]);
  return { file, log, lane: await log.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } }) };
}

function read(log: TopicLog, topic: string, from: number): Promise<TopicRecord[]> {
  return Array.fromAsync(log.read({ topic, from }));
}

function recordsOf(one: Fields | Omit<RecordSeries, 'topic'>): readonly Fields[] {
  if (!('valueAt' in one)) return [one];
  return Array.from({ length: one.count }, (_, index) => ({ ...one, value: one.valueAt(index) }));
}

function selected(db: DatabaseSync, topic: string, partition: number): unknown[] {
  const rows = db.prepare('SELECT * FROM records WHERE topic = ? AND partition = ? ORDER BY offset').all(topic, partition);
  return rows.map((row) => {
    expect(Object.keys(row)).toEqual(['topic', 'partition', 'offset', 'timestamp_ms', 'key', 'value', 'headers']);
    const headers = parsedHeaders(row['headers'] === null ? null : String(row['headers']));
    return [row['offset'], ...shown({ key: fieldOf(row['key']), value: fieldOf(row['value']), headers })];
  });
}

function fieldOf(column: SQLOutputValue | undefined): Field | null {
  return column instanceof Uint8Array ? column : column === null ? null : String(column);
}

function shown({ key, value, headers = {} }: Fields): unknown[] {
  const hex = (one: Field | null): string | null =>
    one === null ? null : Buffer.from(typeof one === 'string' ? Buffer.from(one) : one).toString('hex');
  // Header names are stored as UTF-8, too.
  return [hex(key), hex(value), Object.entries(headers).map(([name, header]) => [hex(name), hex(header)])];
}
