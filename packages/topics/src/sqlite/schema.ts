import type { DatabaseSync } from 'node:sqlite';
import { TopicLogError } from '../topic-log-error.ts';
import { integer } from './column.ts';
import { openError } from './file-errors.ts';

/** "HdGt" in ASCII, which marks the file as a topic log: https://www.sqlite.org/pragma.html#pragma_application_id. */
const APPLICATION_ID = 0x48644774;

/** The version of the tables below. There is only one: another one is refused. */
const VERSION = 1;
/**
 * A record of 110 kB takes 14 pages, each a read and a write of its own. With SQLite's 4096, it would take 28. With 16,384, a small commit would
 * write twice as many bytes.
 */
export const PAGE_BYTES = 8_192;

/**
 * Records before `start_offset` were deleted because of their age. A key that is valid UTF-8 is stored as text, even if it was written as bytes, so
 * that a compacted topic has one record of it. `batches` has rowids, because SQLite would otherwise read the values of its neighbors to place a row. A row of `batches` is one record; or `count` records with a common `prefix` and `suffix`, and with
 * the texts in between as a JSON array in `value`. `records` shows each record separately.
 */
const SCHEMA = `
  CREATE TABLE topics (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    compacted INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE partitions (
    id INTEGER PRIMARY KEY,
    topic_id INTEGER NOT NULL REFERENCES topics (id),
    partition INTEGER NOT NULL,
    next_offset INTEGER NOT NULL,
    start_offset INTEGER NOT NULL DEFAULT 0,
    UNIQUE (topic_id, partition)
  ) STRICT;
  CREATE TABLE batches (
    partition_id INTEGER NOT NULL,
    base_offset INTEGER NOT NULL,
    timestamp_ms INTEGER NOT NULL,
    compacted INTEGER NOT NULL,
    key ANY,
    headers TEXT,
    checksum INTEGER NOT NULL,
    count INTEGER NOT NULL DEFAULT 1,
    prefix TEXT,
    suffix TEXT,
    value ANY,
    PRIMARY KEY (partition_id, base_offset)
  ) STRICT;
  CREATE UNIQUE INDEX newest_per_key ON batches (partition_id, key) WHERE compacted = 1;
  CREATE INDEX tombstones ON batches (partition_id, timestamp_ms) WHERE compacted = 1 AND value IS NULL;
  CREATE VIEW records (topic, partition, offset, timestamp_ms, key, value, headers) AS
    SELECT topics.name, partition, base_offset + middle.key, timestamp_ms, batches.key,
      CASE WHEN prefix IS NULL THEN batches.value ELSE prefix || middle.value || suffix END, headers
    FROM topics
      JOIN partitions ON topic_id = topics.id
      JOIN batches ON partition_id = partitions.id
      JOIN json_each(CASE WHEN prefix IS NULL THEN '[0]' ELSE batches.value END) AS middle;
  CREATE TABLE group_offsets (
    group_name TEXT NOT NULL,
    partition_id INTEGER NOT NULL,
    next_offset INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (group_name, partition_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE lanes (
    name TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL,
    pid INTEGER,
    since_ms INTEGER
  ) STRICT, WITHOUT ROWID;
`;

/**
 * Whether the file has the tables of a log; false if it is empty. Throws for anything else, and changes nothing. It reads in one transaction.
 * Otherwise, the version and the tables of a file that another process is creating could come from before and after that process's commit.
 */
export function checkSchema(db: DatabaseSync, file: string): boolean {
  db.exec('BEGIN');
  try {
    return hasTables(db, file);
  } finally {
    if (db.isTransaction) db.exec('ROLLBACK');
  }
}

/** Creates the tables in an empty file. Several processes can do this at once. */
export function makeSchema(db: DatabaseSync, file: string): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    if (!hasTables(db, file)) db.exec(`${SCHEMA}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}`);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function hasTables(db: DatabaseSync, file: string): boolean {
  const version = pragma(db, 'user_version');
  const owner = pragma(db, 'application_id');
  const tables = integer(db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.['tables']);
  if (owner === 0 && version === 0 && tables === 0) return false;
  if (owner !== APPLICATION_ID) throw openError(file, 'it is a database of another application. Name another file.');
  if (version === VERSION) return true;
  throw new TopicLogError({
    code: 'HEADGATE_TOPIC_LOG_VERSION',
    message:
      `The topic log ${file} has schema version (user_version) ${version}; this release knows only version ${VERSION}, and did not change the file. ` +
      'If a newer release wrote it, upgrade Headgate. Otherwise it was changed or is damaged: restore a backup, or name another file.',
  });
}

function pragma(db: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return integer(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}
