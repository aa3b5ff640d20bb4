import { closeSync, copyFileSync, openSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sqliteTopicLog } from './index.ts';
import { LogStore } from './log-store.ts';
import { isSeriesValues, unpacked } from './series-values.ts';
import { fileError } from './file-errors.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';
import { partitionOf } from './topic-table.ts';

const COUNT = 600;
const PAGE_BYTES = 8_192;
const REFUSALS = [...['CORRUPT', 'OPEN', 'VERSION', 'FAILED'].map((end) => `HEADGATE_TOPIC_LOG_${end}`), 'HEADGATE_TOPIC_UNKNOWN'];

describe('a damaged file', () => {
  it('is reported at the record whose value was changed', async () => {
    const file = await writtenLog();
    const bytes = readFileSync(file);
    const at = bytes.indexOf('value 300 ');
    bytes[at] = 'V'.charCodeAt(0);
    writeFileSync(file, bytes);
    const error: unknown = await readAll(file).catch((damage: unknown) => damage);
    expect(error).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_CORRUPT' });
    expect(error).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_CORRUPT', retryable: false });
    expect(String(error)).toMatch(/log\.db is damaged .*offset 300.*backup/);
  });

  it.each([
    ['key', "'K'"],
    ['headers', "'{}'"],
    ['prefix', "prefix || 'x'"],
    ['suffix', "suffix || 'x'"],
    ['value', "replace(value, 'x', 'X')"],
    ['count', 'count - 1'],
  ])('is reported where the %s of a series was altered', async (column, altered) => {
    const file = await writtenLog({ asSeries: true });
    expect(await readAll(file)).toHaveLength(COUNT);
    alter(file, `UPDATE batches SET ${column} = ${altered} WHERE base_offset = 0`);
    const error: unknown = await readAll(file).catch((damage: unknown) => damage);
    expect(error).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_CORRUPT', retryable: false });
    expect(String(error)).toMatch(/log\.db is damaged .*one of the records at offsets 0 to \d\d\d doesn't match its checksum/);
  });

  it.each([
    ['first', 'min', /the record at offset 0 is missing/],
    ['last', 'max', /the record at offset [345]\d\d is missing/],
  ])('is reported where the %s row of a series is missing', async (_, which, reason) => {
    const file = await writtenLog({ asSeries: true });
    alter(file, `DELETE FROM batches WHERE base_offset = (SELECT ${which}(base_offset) FROM batches)`);
    await expect(readAll(file)).rejects.toThrow(reason);
  });

  it.each([
    ['next_offset', 'next_offset + 1'],
    ['group_name', "'headgatf'"],
    ['partition_id', 'partition_id + 1'],
  ])('is reported if the %s of a group was altered', async (column, altered) => {
    const file = await writtenLog();
    {
      await using log = await sqliteTopicLog({ file });
      for await (const record of log.read({ topic: 'topic', group: 'headgate' })) if (record.offset === 3) break;
      const reader = log.read({ topic: 'topic', group: 'headgate' });
      await reader.commit({ topic: 'topic', partition: 0, offset: 3 });
      expect(await log.groupOffset({ topic: 'topic', partition: 0, group: 'headgate' })).toBe(4);
    }
    alter(file, `UPDATE group_offsets SET ${column} = ${altered}`);
    await using log = await sqliteTopicLog({ file });
    await expect(log.groupOffset({ topic: 'topic', partition: 0, group: 'headgate' })).rejects.toThrow(/offset of a group doesn't match/);
  });

  it('is reported when its end is cut off', async () => {
    const file = await writtenLog();
    truncateSync(file, Math.floor(statSync(file).size / (2 * PAGE_BYTES)) * PAGE_BYTES);
    await expect(readAll(file)).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_CORRUPT' }));
  });

  it('is reported when its first page is overwritten', async () => {
    const file = await writtenLog();
    overwrite(file, 0, Buffer.alloc(200, 0x55));
    await expect(readAll(file)).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_OPEN' }));
  });

  it.each([false, true])('never returns values that were not written, wherever it is damaged (as a series: %s)', async (asSeries) => {
    const file = await writtenLog({ asSeries });
    const copy = join(temporaryFolder(), 'copy.db');
    const pages = statSync(file).size / 4096;
    const outcomes: string[] = [];
    const damage = fc.tuple(
      fc.integer({ min: 0, max: pages - 1 }),
      fc.integer({ min: 0, max: 4_000 }),
      fc.uint8Array({ minLength: 1, maxLength: 90 }),
    );
    fc.assert(
      fc.property(damage, ([page, offset, garbage]) => {
        copyFileSync(file, copy);
        rmSync(`${copy}-wal`, { force: true });
        overwrite(copy, page * 4096 + offset, garbage);
        const outcome = readOutcome(copy);
        outcomes.push(outcome);
        expect(['as written', ...REFUSALS]).toContain(outcome);
      }),
      { numRuns: 150 },
    );
    expect(outcomes.filter((outcome) => outcome === 'HEADGATE_TOPIC_LOG_CORRUPT').length).toBeGreaterThan(20);
  });
});

/** Reads a file without the log's thread, so that many files can be tried, and returns what happened. */
function readOutcome(file: string): string {
  let store: LogStore | undefined;
  try {
    store = new LogStore({ file, busyTimeoutMs: 0, tombstoneRetentionMs: 0, maxFileBytes: 0 });
    const partition = partitionOf(store.topics.get('topic'), 0);
    const found: unknown[] = [];
    for (let from = 0; from < partition.nextOffset;) {
      const chunk = store.records.chunk(partition, from, partition.nextOffset);
      for (const value of chunk.values) found.push(...(isSeriesValues(value) ? unpacked(value) : [value]));
      from = chunk.next;
    }
    return isDeepStrictEqual(
      found,
      Array.from({ length: COUNT }, (_, index) => valueOf(index)),
    )
      ? 'as written'
      : 'something else';
  } catch (error) {
    return fileError(error, file, 0).code;
  } finally {
    store?.close();
  }
}

function valueOf(index: number): string {
  return `value ${index} `.padEnd(200 + (index % 7) * 900, 'x');
}

async function writtenLog({ asSeries = false } = {}): Promise<string> {
  const file = join(temporaryFolder(), 'log.db');
  await using log = await sqliteTopicLog({ file });
  await log.createTopics([{ name: 'topic', partitions: 1 }]);
  const topic = { topic: 'topic', key: 'k' };
  if (!asSeries) {
    await log.append(Array.from({ length: COUNT }, (_, index) => ({ ...topic, value: valueOf(index) })));
    return file;
  }
  await log.createTopics([{ name: 'state', partitions: 1, compacted: true }]);
  await using lane = await log.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } });
  await lane.transaction((tx) => tx.append([{ ...topic, headers: { header: 'h' }, count: COUNT, valueAt: valueOf }]));
  return file;
}

function alter(file: string, sql: string): void {
  using db = new DatabaseSync(file);
  expect(db.prepare(sql).run().changes).toBe(1);
}

async function readAll(file: string): Promise<(string | null)[]> {
  await using log = await sqliteTopicLog({ file });
  const found: (string | null)[] = [];
  for await (const record of log.read({ topic: 'topic' })) found.push(record.value);
  return found;
}

function overwrite(file: string, at: number, bytes: Uint8Array): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
}
