/**
 * The exactly-once engine: `definePipeline` creates a pipeline from a source and topics, and `start` runs pipelines on a log.
 *
 * @packageDocumentation
 */
export { StateLostError, type Loss } from './lane/state-check.ts';
export {
  countOpenDeadLetters,
  type DeadLettersOptions,
  type OpenByCode,
  type OpenDeadLetter,
  openDeadLetters,
} from './run/open-dead-letters.ts';
export {
  type CloseDeadLettersOptions,
  dismissDeadLetters,
  type DismissOptions,
  replayDeadLetters,
  type ReplayOptions,
} from './run/replay.ts';
export { definePipeline } from './definition/define-pipeline.ts';
export { duration, type DurationOptions } from './settings/duration.ts';
export { type TopicNaming, topicNames } from './topics/names.ts';
export { type OptionIssue, type OptionIssueCode, type ParsedOptions, parseOptions } from './settings/parse-options.ts';
export type { CommonOptions, DefinedPipeline, DefinitionInfo, LaneShare, ListedJob, Pipeline, SharedIo } from './definition/pipeline.ts';
export type { JobGroups, NamedCredential, PipelineDefinition, PipelineIo, Probe } from './definition/pipeline-definition.ts';
export { InvalidOptionsError, PipelineError, type PipelineErrorCode, type PipelineErrorOptions } from './settings/pipeline-error.ts';
export type { KeyedJob, PipelineJobs } from './definition/pipeline-jobs.ts';
export { secret, type SecretReader, type SecretInput, type SecretOptions } from './settings/secret.ts';
export {
  type PendingRecord,
  type RecordContent,
  type RecordMaker,
  type RecordMakers,
  type RecordSeriesContent,
  type JobMaker,
  type JobMakerOptions,
  type Serialize,
  type SerializeContext,
  topic,
  type TopicDefinition,
  type TopicFormat,
  type TopicMap,
  type TopicNames,
  type TopicValue,
} from './topics/topic.ts';
export type { JournalRecord } from './lane/lane-journal.ts';
export type { CrawlSize, Processor, SourceControls } from './definition/processor.ts';
export { route, type RoutedProcessors } from './jobs/route.ts';
export type { StopDeadline } from './run/stop-deadline.ts';
export { type Running, type RunResult, start, type StartOptions } from './run/start.ts';
export { forecast, type Forecast, type ForecastOptions, type LaneWork, type WalkSize } from './progress/forecast.ts';
export { type LaneLeft, leftToDo, type LeftToDoOptions, type LogView, type PipelineLeft, type WalkLeft } from './run/left-to-do.ts';
export { cancelJobs, type CancelJobsOptions } from './run/cancel-jobs.ts';
export type { ListAgain } from './run/list-again.ts';
export { lookup } from './jobs/lookup.ts';
export { split } from './jobs/split.ts';
export type { LookupDeadLetter, LookupDefinition, LookupOutcome, LookupPosition, RequestedKey } from './jobs/lookup-definition.ts';
export type { BudgetGauge, CreditGauge, Doing, LaneGauge, Reason, JobEvent, RunEvent } from './events/events.ts';
export type { Histogram } from './events/histogram.ts';
export type { JobGroup, KeysRow, PipelineSnapshot, Progress, RunSnapshot, WalkRow, WorkRow } from './progress/run-snapshot.ts';
export { walk } from './jobs/walk.ts';
export type {
  After,
  AfterIo,
  CarryingWalk,
  Crawl,
  RefusedPart,
  WalkBeginning,
  WalkChange,
  WalkDefinition,
  WalkedSource,
  WalkPosition,
} from './jobs/walk-definition.ts';
