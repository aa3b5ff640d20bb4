export { backupSqliteTopicLog, type BackedUp, type BackupOptions } from './backup.ts';
export { sqliteTopicLog, type SqliteRetention, type SqliteTopicLogOptions } from './sqlite-topic-log.ts';
