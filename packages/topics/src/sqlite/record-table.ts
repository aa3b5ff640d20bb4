import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { noText, textOf } from '../record-fields.ts';
import type { TopicPartition } from '../topic-log.ts';
import { InvalidRecordError } from '../topic-errors.ts';
import { fieldOrNull, integer, integerOrNull, text, textOrNull } from './column.ts';
import { corruptError } from './file-errors.ts';
import { type SeriesValues, isSeriesValues, recordCount } from './series-values.ts';
import type { StoredPartition } from './topic-table.ts';
import type { RecordChunk, StateEntries } from './worker-protocol.ts';

/** Rows per INSERT. One statement for this many rows costs about half as much as one statement per row. */
const ROWS_PER_INSERT = 50;
const COLUMNS = ['partition_id', 'base_offset', 'timestamp_ms', 'compacted', 'key', 'headers', 'checksum', 'value'];
const SERIES_COLUMNS = [...COLUMNS, 'count', 'prefix', 'suffix'];
/** Columns that queries select, with their index in a row. SQLite returns rows as arrays, which cost about half as much as objects. */
const AT = { base_offset: 0, timestamp_ms: 1, key: 2, headers: 3, checksum: 4, value: 5, count: 6, prefix: 7, suffix: 8 };
/** A chunk ends with the row that reaches either limit. `CHUNK_CHARACTERS` counts characters of texts and bytes of binary fields. */
const CHUNK_RECORDS = 1000;
const CHUNK_CHARACTERS = 1_000_000;
/** Maximum number of rows deleted at a time in a partition, so that a deletion doesn't block writers for long. */
const ROWS_PER_DELETION = 50;

type Field = string | Uint8Array;

/** A row to insert: one record, or a series of records if `value` is `SeriesValues`. */
export interface NewRow {
  readonly partitionId: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Field | null;
  readonly value: Field | SeriesValues | null;
  readonly headers: string | null;
}

/** The `batches` table, which holds the records. On a compacted topic, a record replaces the older one with its key. */
export class RecordTable {
  readonly #file: string;
  readonly #insert: Inserts;
  readonly #replace: Inserts;
  readonly #insertSeries: StatementSync;
  readonly #chunk: StatementSync;
  readonly #state: StatementSync;
  readonly #purge: StatementSync;
  readonly #since: StatementSync;
  readonly #oldest: StatementSync;
  readonly #deleteBefore: StatementSync;

  constructor(db: DatabaseSync, file: string) {
    this.#file = file;
    this.#insert = prepareInserts(db, 'INSERT');
    this.#replace = prepareInserts(db, 'INSERT OR REPLACE');
    this.#insertSeries = db.prepare(`INSERT INTO batches (${SERIES_COLUMNS.join(', ')}) VALUES ${placeholders(SERIES_COLUMNS)}`);
    const columns = `SELECT ${Object.keys(AT).join(', ')} FROM batches`;
    // The row that contains the record at `from` may begin at a lower offset.
    const first = 'coalesce((SELECT max(base_offset) FROM batches WHERE partition_id = :id AND base_offset <= :from), :from)';
    this.#chunk = db.prepare(`${columns} WHERE partition_id = :id AND base_offset >= ${first} AND base_offset < :end ORDER BY base_offset`);
    this.#state = db.prepare(`${columns} WHERE partition_id = ? AND compacted = 1 AND value IS NOT NULL ORDER BY base_offset`);
    for (const statement of [this.#chunk, this.#state]) statement.setReturnArrays(true);
    this.#purge = db.prepare('DELETE FROM batches WHERE partition_id = ? AND compacted = 1 AND value IS NULL AND timestamp_ms < ?');
    this.#since = db.prepare('SELECT min(base_offset) AS first FROM batches WHERE partition_id = ? AND timestamp_ms >= ?');
    this.#oldest = db.prepare(
      `SELECT base_offset, count, timestamp_ms FROM batches WHERE partition_id = ? ORDER BY base_offset LIMIT ${ROWS_PER_DELETION}`,
    );
    this.#deleteBefore = db.prepare('DELETE FROM batches WHERE partition_id = ? AND base_offset < ?');
  }

  /** Inserts rows. Rows of a compacted topic must hold one record each, because only those replace the older record of their key. */
  insert(rows: readonly NewRow[], compacted: boolean): void {
    const { many, one } = compacted ? this.#replace : this.#insert;
    const records: NewRow[] = [];
    for (const row of rows) {
      if (!isSeriesValues(row.value)) records.push(row);
      else this.#insertSeries.run(...columnsOf([row], compacted), row.value.count, row.value.prefix, row.value.suffix);
    }
    const whole = records.length - (records.length % ROWS_PER_INSERT);
    for (let at = 0; at < whole; at += ROWS_PER_INSERT) many.run(...columnsOf(records.slice(at, at + ROWS_PER_INSERT), compacted));
    for (const row of records.slice(whole)) one.run(...columnsOf([row], compacted));
  }

  /**
   * Returns the next records of a partition, from `wanted` to before `end`. If retention has deleted the first of them, the chunk starts with the
   * first record that exists. It is empty if there are none. Call within a transaction.
   */
  chunk(of: Pick<StoredPartition, 'id' | 'partition' | 'startOffset' | 'compacted'>, wanted: number, end: number): RecordChunk {
    const { id, partition, startOffset, compacted } = of;
    const from = Math.max(wanted, startOffset);
    const chunk: RecordChunk = { partition, from, next: from, offsets: [], timestampsMs: [], keys: [], values: [], headers: [] };
    let records = 0;
    let characters = 0;
    for (const row of this.#chunk.iterate({ id, from, end })) {
      const { key, value, headers } = this.#verified(row);
      const offset = integer(row[AT.base_offset]);
      const next = offset + recordCount(value);
      if (next <= from) continue;
      if (!compacted && Math.max(offset, from) !== chunk.next) this.#missing(chunk.next);
      chunk.next = next;
      chunk.offsets.push(offset);
      chunk.timestampsMs.push(integer(row[AT.timestamp_ms]));
      chunk.keys.push(key);
      chunk.values.push(value);
      chunk.headers.push(headers);
      records += recordCount(value);
      characters += (key?.length ?? 0) + sizeOf(value) + (headers?.length ?? 0);
      if (characters >= CHUNK_CHARACTERS || records >= CHUNK_RECORDS) return chunk;
    }
    if (!compacted && chunk.next < end) this.#missing(chunk.next);
    return chunk;
  }

  /**
   * The newest value per key of a partition of a compacted topic, in the order in which they were written. Throws for a value that isn't text.
   * Ignores keys that aren't text, because no lane's state has them.
   */
  state(partitionId: number, topicPartition: TopicPartition): StateEntries {
    const keys: string[] = [];
    const values: string[] = [];
    const timestampsMs: number[] = [];
    for (const row of this.#state.iterate(partitionId)) {
      const { key, value } = this.#verified(row);
      if (typeof key !== 'string' || value === null || isSeriesValues(value)) continue;
      const found = typeof value === 'string' ? value : textOf(value);
      if (found === undefined && typeof value !== 'string') {
        throw new InvalidRecordError(noText({ ...topicPartition, offset: integer(row[AT.base_offset]) }, new Map([['value', value]])));
      }
      keys.push(key);
      values.push(found ?? '');
      timestampsMs.push(integer(row[AT.timestamp_ms]));
    }
    return { keys, values, timestampsMs };
  }

  /** The offset of the first record appended at this time or later; null if there is none. Timestamps can decrease if the clock was set back. */
  since(partitionId: number, sinceMs: number): number | null {
    return integerOrNull(this.#since.get(partitionId, sinceMs)?.['first']);
  }

  /** Deletes tombstones that are so old that every reader should have seen them. */
  purgeTombstones(partitionId: number, olderThanMs: number): void {
    this.#purge.run(partitionId, olderThanMs);
  }

  /** The offset after some of the oldest records that were written before `beforeMs`; undefined if there are none. */
  behindOld(partitionId: number, beforeMs: number): number | undefined {
    let behind: number | undefined;
    for (const row of this.#oldest.iterate(partitionId)) {
      if (integer(row['timestamp_ms']) >= beforeMs) break;
      behind = integer(row['base_offset']) + integer(row['count']);
    }
    return behind;
  }

  deleteBefore(partitionId: number, offset: number): void {
    this.#deleteBefore.run(partitionId, offset);
  }

  /** Throws for a missing record. SQLite doesn't notice if a damaged pointer leads to another valid page. */
  #missing(offset: number): never {
    throw corruptError(this.#file, `the record at offset ${offset} is missing`);
  }

  #verified(row: Record<string, SQLOutputValue>): Pick<NewRow, 'key' | 'value' | 'headers'> {
    const found = { key: fieldOrNull(row[AT.key]), value: storedValue(row), headers: textOrNull(row[AT.headers]) };
    if (checksum(found) !== integer(row[AT.checksum])) {
      const offset = integer(row[AT.base_offset]);
      const last = offset + recordCount(found.value) - 1;
      const which = last > offset ? `one of the records at offsets ${offset} to ${last}` : `the record at offset ${offset}`;
      throw corruptError(this.#file, `${which} doesn't match its checksum`);
    }
    return found;
  }
}

interface Inserts {
  readonly many: StatementSync;
  readonly one: StatementSync;
}

function prepareInserts(db: DatabaseSync, verb: string): Inserts {
  const into = `${verb} INTO batches (${COLUMNS.join(', ')}) VALUES`;
  return {
    many: db.prepare(`${into} ${Array.from({ length: ROWS_PER_INSERT }, () => placeholders(COLUMNS)).join(', ')}`),
    one: db.prepare(`${into} ${placeholders(COLUMNS)}`),
  };
}

function placeholders(columns: readonly string[]): string {
  return `(${columns.map(() => '?').join(', ')})`;
}

function columnsOf(rows: readonly NewRow[], compacted: boolean): SQLInputValue[] {
  const columns: SQLInputValue[] = [];
  for (const row of rows) {
    const { partitionId, offset, timestampMs, key, value, headers } = row;
    const stored = isSeriesValues(value) ? value.middles : value;
    columns.push(partitionId, offset, timestampMs, compacted ? 1 : 0, key, headers, checksum(row), stored);
  }
  return columns;
}

function storedValue(row: Record<string, SQLOutputValue>): NewRow['value'] {
  const prefix = textOrNull(row[AT.prefix]);
  if (prefix === null) return fieldOrNull(row[AT.value]);
  return { count: integer(row[AT.count]), prefix, middles: text(row[AT.value]), suffix: text(row[AT.suffix]) };
}

function sizeOf(value: NewRow['value']): number {
  return isSeriesValues(value) ? value.middles.length + value.count * (value.prefix.length + value.suffix.length) : (value?.length ?? 0);
}

/** CRC-32 of the user's data. SQLite notices a damaged page structure, but neither a damaged value nor a text that became bytes. */
function checksum({ key, value, headers }: Pick<NewRow, 'key' | 'value' | 'headers'>): number {
  const keyed = crcOf(key, 0);
  const valued = isSeriesValues(value) ? crcOfSeries(value, keyed) : crcOf(value, keyed);
  return headers === null ? valued : crc32(headers, valued);
}

function crcOf(field: Field | null, before: number): number {
  if (field === null) return (before + 1) >>> 0;
  return typeof field === 'string' ? crc32(field, before) : crc32(field, crc32('bytes', before));
}

function crcOfSeries({ count, prefix, middles, suffix }: SeriesValues, before: number): number {
  return crc32(suffix, crc32(middles, crc32(`${count} ${prefix}`, before)));
}
