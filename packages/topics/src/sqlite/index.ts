export { sqliteTopicLog, type SqliteTopicLogOptions } from './sqlite-topic-log.ts';
