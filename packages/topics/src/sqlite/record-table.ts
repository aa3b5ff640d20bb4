import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { noText, textOf } from '../record-fields.ts';
import type { TopicPartition } from '../topic-log.ts';
import { fieldOrNull, integer, textOrNull } from './column.ts';
import type { StoredPartition } from './topic-table.ts';
import { type RecordChunk, type StateEntries, WorkerFailure } from './worker-protocol.ts';

/** One statement for so many rows costs half of one statement each. */
const ROWS_PER_INSERT = 50;
const COLUMNS = 8;
/** A chunk ends after so many records, or so many characters and bytes. */
const CHUNK_RECORDS = 1000;
const CHUNK_CHARACTERS = 1_000_000;

type Field = string | Uint8Array;

export interface NewRow {
  readonly partitionId: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Field | null;
  readonly value: Field | null;
  readonly headers: string | null;
}

/** The records. On a compacted topic a record replaces the older one of its key. */
export class RecordTable {
  readonly #file: string;
  readonly #insert: Inserts;
  readonly #replace: Inserts;
  readonly #chunk: StatementSync;
  readonly #state: StatementSync;
  readonly #purge: StatementSync;

  constructor(db: DatabaseSync, file: string) {
    this.#file = file;
    this.#insert = prepareInserts(db, 'INSERT');
    this.#replace = prepareInserts(db, 'INSERT OR REPLACE');
    const columns = 'SELECT offset, timestamp_ms, key, value, headers, checksum FROM records WHERE partition_id = ?';
    this.#chunk = db.prepare(`${columns} AND offset >= ? AND offset < ? ORDER BY offset LIMIT ${CHUNK_RECORDS}`);
    this.#state = db.prepare(`${columns} AND compacted = 1 AND value IS NOT NULL ORDER BY offset`);
    this.#purge = db.prepare('DELETE FROM records WHERE partition_id = ? AND compacted = 1 AND value IS NULL AND timestamp_ms < ?');
  }

  insert(rows: readonly NewRow[], compacted: boolean): void {
    const { many, one } = compacted ? this.#replace : this.#insert;
    const whole = rows.length - (rows.length % ROWS_PER_INSERT);
    for (let at = 0; at < whole; at += ROWS_PER_INSERT) many.run(...columnsOf(rows, at, at + ROWS_PER_INSERT, compacted));
    for (let at = whole; at < rows.length; at++) one.run(...columnsOf(rows, at, at + 1, compacted));
  }

  /** The next records of a partition from `from` to before `end`; none: no more there. */
  chunk(partition: Pick<StoredPartition, 'id' | 'partition' | 'compacted'>, from: number, end: number): RecordChunk {
    const chunk: RecordChunk = { partition: partition.partition, offsets: [], timestampsMs: [], keys: [], values: [], headers: [] };
    let characters = 0;
    let next = from;
    for (const row of this.#chunk.iterate(partition.id, from, end)) {
      const { key, value, headers } = this.#verified(row);
      const offset = integer(row['offset']);
      if (!partition.compacted && offset !== next) this.#missing(next);
      next = offset + 1;
      chunk.offsets.push(offset);
      chunk.timestampsMs.push(integer(row['timestamp_ms']));
      chunk.keys.push(key);
      chunk.values.push(value);
      chunk.headers.push(headers);
      characters += (key?.length ?? 0) + (value?.length ?? 0) + (headers?.length ?? 0);
      if (characters >= CHUNK_CHARACTERS) return chunk;
    }
    if (!partition.compacted && next < end && chunk.offsets.length < CHUNK_RECORDS) this.#missing(next);
    return chunk;
  }

  /**
   * The newest value per key of a partition of a compacted topic, in the order they were written. Fails for a value that is no text; a key that
   * is none belongs to no state.
   */
  state(partitionId: number, topicPartition: TopicPartition): StateEntries {
    const keys: string[] = [];
    const values: string[] = [];
    const timestampsMs: number[] = [];
    for (const row of this.#state.iterate(partitionId)) {
      const { key, value } = this.#verified(row);
      if (typeof key !== 'string' || value === null) continue;
      const found = typeof value === 'string' ? value : textOf(value);
      if (found === undefined && typeof value !== 'string') {
        const details = noText({ ...topicPartition, offset: integer(row['offset']) }, new Map([['value', value]]));
        throw new WorkerFailure({ kind: 'invalid-record', ...details });
      }
      keys.push(key);
      values.push(found ?? '');
      timestampsMs.push(integer(row['timestamp_ms']));
    }
    return { keys, values, timestampsMs };
  }

  /** Tombstones have done their work once every reader may be supposed to have seen them. */
  purgeTombstones(partitionId: number, olderThanMs: number): void {
    this.#purge.run(partitionId, olderThanMs);
  }

  /** SQLite doesn't notice a damaged pointer that leads to a sound page. */
  #missing(offset: number): never {
    throw new WorkerFailure({ kind: 'corrupt', file: this.#file, detail: `the record at offset ${offset} is missing` });
  }

  #verified(row: Record<string, SQLOutputValue>): Pick<NewRow, 'key' | 'value' | 'headers'> {
    const found = { key: fieldOrNull(row['key']), value: fieldOrNull(row['value']), headers: textOrNull(row['headers']) };
    if (checksum(found) !== integer(row['checksum'])) {
      const detail = `the record at offset ${integer(row['offset'])} doesn't match its checksum`;
      throw new WorkerFailure({ kind: 'corrupt', file: this.#file, detail });
    }
    return found;
  }
}

interface Inserts {
  readonly many: StatementSync;
  readonly one: StatementSync;
}

function prepareInserts(db: DatabaseSync, verb: string): Inserts {
  const row = `(${Array.from({ length: COLUMNS }, () => '?').join(', ')})`;
  const into = `${verb} INTO records (partition_id, offset, timestamp_ms, compacted, key, value, headers, checksum) VALUES`;
  return {
    many: db.prepare(`${into} ${Array.from({ length: ROWS_PER_INSERT }, () => row).join(', ')}`),
    one: db.prepare(`${into} ${row}`),
  };
}

function columnsOf(rows: readonly NewRow[], from: number, to: number, compacted: boolean): SQLInputValue[] {
  const columns: SQLInputValue[] = [];
  for (const row of rows.slice(from, to)) {
    columns.push(row.partitionId, row.offset, row.timestampMs, compacted ? 1 : 0, row.key, row.value, row.headers, checksum(row));
  }
  return columns;
}

/** CRC-32 of what a user gave: SQLite notices a damaged page's structure, but neither a damaged value nor that its text has become bytes. */
function checksum({ key, value, headers }: Pick<NewRow, 'key' | 'value' | 'headers'>): number {
  const keyed = crcOf(key, 0);
  const valued = crcOf(value, keyed);
  return headers === null ? valued : crc32(headers, valued);
}

function crcOf(field: Field | null, before: number): number {
  if (field === null) return before + 1;
  return typeof field === 'string' ? crc32(field, before) : crc32(field, crc32('bytes', before));
}
