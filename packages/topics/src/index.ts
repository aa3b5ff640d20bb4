/**
 * The interface of a topic log, its records and its errors. Each driver is a separate entry point.
 *
 * @packageDocumentation
 */
export { LaneHeldError, LaneLostError } from './lane-errors.ts';
export { MissingRightError, rightsWords } from './missing-right-error.ts';
export { partitionForKey } from './partition-for-key.ts';
export { textOf, textRecord } from './record-fields.ts';
export { InvalidRecordError, TopicLostError, TopicMismatchError, TopicUnknownError } from './topic-errors.ts';
export { TopicLogError, type TopicLogErrorCode, type TopicLogErrorOptions } from './topic-log-error.ts';
export type { MissingRight, ResourceKind } from './missing-right-error.ts';
export type { AvailabilityChange } from './availability.ts';
export type { InvalidRecordDetails, TopicMismatch } from './topic-errors.ts';
export type {
  CreatedTopics,
  GroupMember,
  OpenTransaction,
  JoinGroupOptions,
  LaneSpec,
  LaneTransaction,
  LaneWriter,
  NewRecord,
  NewTopicSpec,
  OffsetCommit,
  OffsetPlace,
  ReadOptions,
  RecordPosition,
  RecordLimit,
  RecordSeries,
  SeriesParts,
  StateReading,
  TopicGrowth,
  TopicInfo,
  TopicLog,
  TopicPartition,
  TopicReader,
  TopicRecord,
  TopicSpec,
} from './topic-log.ts';
