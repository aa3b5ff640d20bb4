export { LaneHeldError, LaneLostError } from './lane-errors.ts';
export { partitionForKey } from './partition-for-key.ts';
export { InvalidRecordError, TopicMismatchError, TopicUnknownError } from './topic-errors.ts';
export {
  TopicLogBusyError,
  TopicLogClosedError,
  TopicLogCorruptError,
  TopicLogFailedError,
  TopicLogFullError,
  TopicLogOpenError,
  TopicLogVersionError,
} from './topic-log-errors.ts';
export type {
  GroupMember,
  JoinGroupOptions,
  LaneSpec,
  LaneTransaction,
  LaneWriter,
  NewRecord,
  RecordSeries,
  ReadOptions,
  RecordPosition,
  StateReading,
  TopicInfo,
  TopicLog,
  TopicPartition,
  TopicReader,
  TopicRecord,
  TopicSpec,
} from './topic-log.ts';
