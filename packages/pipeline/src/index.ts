/**
 * The exactly-once engine: `definePipeline` makes a pipeline of a source and topics, `start` runs pipelines on a log.
 *
 * @packageDocumentation
 */
export {
  type AttemptEvent,
  type CommonOptions,
  type DefinedPipeline,
  type DefinitionInfo,
  definePipeline,
  type KeyedRequest,
  type ListedRequest,
  type LaneIo,
  type LaneWorker,
  type SizedRecord,
  type NamedCredential,
  type OpenedPipeline,
  type Pipeline,
  type PipelineDefinition,
  type PipelineIo,
  type PipelineRequests,
  type Probe,
  type ProbeIo,
  type SharedIo,
} from './define-pipeline.ts';
export { duration, type DurationOptions } from './duration.ts';
export type { Histogram } from './histogram.ts';
export type { BudgetGauge, CreditGauge, Doing, LaneGauge, Reason, RequestEvent, RunEvent } from './events.ts';
export { openJournalledLane, type OpenJournalledLaneOptions } from './group/journalled-lane.ts';
export type { JournalReader, JournalRecord } from './lane/lane-journal.ts';
export { intendedUse, intendedUseBeside, type IntendedUseOptions } from './intended-use.ts';
export { assertStatesKept, type Loss, StateLostError } from './lane/state-check.ts';
export { findOtherGroups, type OtherGroupsOptions } from './lane/other-groups.ts';
export { lanesOf, type TopicNaming, topicNames } from './names.ts';
export { type OptionIssue, type OptionIssueCode, type ParsedOptions, parseOptions } from './parse-options.ts';
export { InvalidOptionsError, PipelineError, type PipelineErrorCode, type PipelineErrorOptions } from './pipeline-error.ts';
export { cancelRequests, type CancelRequestsOptions } from './requests/cancel-requests.ts';
export {
  countOpenDeadLetters,
  type DeadLettersOptions,
  type OpenByCode,
  type OpenDeadLetter,
  openDeadLetters,
} from './requests/open-dead-letters.ts';
export {
  type CloseLettersOptions,
  dismissDeadLetters,
  type DismissOptions,
  replayDeadLetters,
  type ReplayOptions,
} from './requests/replay.ts';
export {
  forecast,
  type Forecast,
  type ForecastOptions,
  type LaneWork,
  savedByCredential,
  walksDone,
  type WalkSize,
} from './plan/forecast.ts';
export { type LaneLeft, leftToDo, type LeftToDoOptions, type LogView, type PipelineLeft, type WalkLeft } from './plan/left-to-do.ts';
export type { KeysRow, PipelineSnapshot, Progress, RunSnapshot, WalkRow, WorkRow } from './run-model.ts';
export { BACKLOG } from './workers/walk.ts';
export { secret, type Secret, type SecretInput, type SecretOptions } from './secret.ts';
export { type Running, type RunResult, start, type StartOptions } from './start.ts';
export { type PipelineTopics, topicSpecs } from './topics.ts';
export {
  type PendingRecord,
  type RecordContent,
  type RecordMaker,
  type RecordMakers,
  type RecordSeriesContent,
  type RequestMaker,
  type Serialize,
  type SerializeContext,
  topic,
  type TopicDefinition,
  type TopicMap,
  type TopicNames,
  type ValueOf,
} from './topic.ts';
export type { CrawlSize, Left, SourceControls, StateOfLane, Work, Worker, WorkerContext } from './worker.ts';
export type { After, AfterIo, Crawl } from './workers/after.ts';
export {
  type RequestedKey,
  lookup,
  type LookupDeadLetter,
  type LookupDefinition,
  type LookupOutcome,
  type LookupPosition,
} from './workers/lookup.ts';
export { route, type RoutedWorks } from './workers/route.ts';
export { pause } from './wait.ts';
export { type RefusedPart, walk, type WalkChange, type WalkDefinition, type WalkedSource, type WalkPosition } from './workers/walk.ts';
