/**
 * The embedded topic log: one SQLite file, with nothing to install.
 *
 * @packageDocumentation
 */
export { backupSqliteTopicLog, type BackedUp, type BackupOptions } from './backup.ts';
export type { SqliteRetention } from './delete-old-records.ts';
export { sqliteTopicLog, type SqliteTopicLogOptions } from './sqlite-topic-log.ts';
