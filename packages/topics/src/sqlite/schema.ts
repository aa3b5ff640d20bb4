import { WorkerFailure } from './worker-protocol.ts';
import type { DatabaseSync } from 'node:sqlite';
import { integer } from './column.ts';

/** "HdGt" in ASCII, which marks the file as a topic log: https://www.sqlite.org/pragma.html#pragma_application_id. */
const APPLICATION_ID = 0x48644774;

const VERSION = 5;
/** The migration from each older version of the schema to the next one. */
const MIGRATIONS: Readonly<Record<number, string>> = {
  3: 'ALTER TABLE partitions ADD COLUMN start_offset INTEGER NOT NULL DEFAULT 0',
  4: 'ALTER TABLE group_offsets ADD COLUMN checksum INTEGER',
};
/** Used instead of migrations if the file must not be written: views that show a table of an older version as in the next one. */
const VIEWS: Readonly<Record<number, string>> = {
  3: 'CREATE TEMP VIEW partitions AS SELECT *, 0 AS start_offset FROM main.partitions',
  4: 'CREATE TEMP VIEW group_offsets AS SELECT *, NULL AS checksum FROM main.group_offsets',
};

/**
 * Records before `start_offset` were deleted because of their age. A key that is valid UTF-8 is stored as text, even if it was written as bytes, so
 * that a compacted topic has one record of it. A row of `batches` is one record; or `count` records with a common `prefix` and `suffix`, and with
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
  ) STRICT, WITHOUT ROWID;
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
    checksum INTEGER,
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
 * Refuses a file of a newer release, or one that isn't a topic log, and changes nothing. It reads in one transaction. Otherwise, the version and
 * the tables of a file that another process is creating could come from before and after that process's commit.
 */
export function checkSchema(db: DatabaseSync, file: string): void {
  db.exec('BEGIN');
  try {
    judge(db, file);
  } finally {
    if (db.isTransaction) db.exec('ROLLBACK');
  }
}

/** Creates the tables of a new file, or migrates those of an older release, in one transaction. Several processes can do this at once. */
export function makeSchema(db: DatabaseSync, file: string): void {
  if (pragma(db, 'user_version') === VERSION) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    judge(db, file);
    const found = pragma(db, 'user_version');
    if (found === 0) {
      db.exec(SCHEMA);
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    }
    for (let version = found; version > 0 && version < VERSION; version++) db.exec(MIGRATIONS[version] ?? '');
    db.exec(`PRAGMA user_version = ${VERSION}`);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Whether no process has created the tables yet. */
export function isEmpty(db: DatabaseSync): boolean {
  return pragma(db, 'user_version') === 0;
}

/** Lets an empty file, or one of an older release, be read like one of this release, without changing it. */
export function viewSchema(db: DatabaseSync): void {
  if (isEmpty(db)) db.exec(SCHEMA.replaceAll(/CREATE (?=TABLE|VIEW)/g, 'CREATE TEMP '));
  else for (let version = pragma(db, 'user_version'); version < VERSION; version++) db.exec(VIEWS[version] ?? '');
}

/** Throws unless the file is empty, or a topic log of a version that this release knows. Call within a transaction. */
function judge(db: DatabaseSync, file: string): void {
  const version = pragma(db, 'user_version');
  const owner = pragma(db, 'application_id');
  const tables = integer(db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.['tables']);
  if (owner !== APPLICATION_ID && (owner !== 0 || version !== 0 || tables > 0)) {
    const detail = `application_id ${owner}, user_version ${version}`;
    throw new WorkerFailure({ kind: 'open', file, reason: 'it is a database of another application. Name another file.', detail });
  }
  if (owner === APPLICATION_ID && version < VERSION && !(version in MIGRATIONS)) {
    const reason =
      `its schema version (user_version) is ${version}, which no release uses: the file predates the first release, was changed, or is damaged. ` +
      'Restore a backup, or name another file.';
    throw new WorkerFailure({ kind: 'open', file, reason, detail: `user_version ${version}` });
  }
  if (version > VERSION) throw new WorkerFailure({ kind: 'version', file, version, known: VERSION });
}

function pragma(db: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return integer(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}
