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
} from './definition/define-pipeline.ts';
export { duration, type DurationOptions } from './definition/duration.ts';
export type { Histogram } from './view/histogram.ts';
export type { BudgetGauge, CreditGauge, Doing, LaneGauge, Reason, RequestEvent, RunEvent } from './view/events.ts';
export { openJournalledLane, type OpenJournalledLaneOptions } from './engine/journalled-lane.ts';
export type { JournalReader, JournalRecord } from './engine/lane-journal.ts';
export { intendedUse, intendedUseBeside, type IntendedUseOptions } from './checks/intended-use.ts';
export { assertStatesKept, type Loss, StateLostError } from './checks/state-check.ts';
export { findOtherGroups, type OtherGroupsOptions } from './checks/other-groups.ts';
export { lanesOf, type TopicNaming, topicNames } from './definition/names.ts';
export { type OptionIssue, type OptionIssueCode, type ParsedOptions, parseOptions } from './definition/parse-options.ts';
export { InvalidOptionsError, PipelineError, type PipelineErrorCode, type PipelineErrorOptions } from './definition/pipeline-error.ts';
export { cancelRequests, type CancelRequestsOptions } from './lists/cancel-requests.ts';
export {
  countOpenDeadLetters,
  type DeadLettersOptions,
  type OpenByCode,
  type OpenDeadLetter,
  openDeadLetters,
} from './dead-letters/open-dead-letters.ts';
export {
  type CloseLettersOptions,
  dismissDeadLetters,
  type DismissOptions,
  replayDeadLetters,
  type ReplayOptions,
} from './dead-letters/replay.ts';
export {
  forecast,
  type Forecast,
  type ForecastOptions,
  type LaneWork,
  savedByCredential,
  walksDone,
  type WalkSize,
} from './forecast/forecast.ts';
export { type LaneLeft, leftToDo, type LeftToDoOptions, type LogView, type PipelineLeft, type WalkLeft } from './forecast/left-to-do.ts';
export type { KeysRow, PipelineSnapshot, Progress, RunSnapshot, WalkRow, WorkRow } from './view/run-model.ts';
export { BACKLOG } from './walk/walk.ts';
export { secret, type Secret, type SecretInput, type SecretOptions } from './definition/secret.ts';
export { type Running, type RunResult, start, type StartOptions } from './engine/start.ts';
export { type PipelineTopics, topicSpecs } from './definition/topics.ts';
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
} from './definition/topic.ts';
export type { CrawlSize, Left, SourceControls, StateOfLane, Work, Worker, WorkerContext } from './engine/worker.ts';
export type { After, AfterIo, Crawl } from './walk/after.ts';
export {
  type RequestedKey,
  lookup,
  type LookupDeadLetter,
  type LookupDefinition,
  type LookupOutcome,
  type LookupPosition,
} from './lookup/lookup.ts';
export { route, type RoutedWorks } from './engine/route.ts';
export { pause } from './engine/wait.ts';
export { type RefusedPart, walk, type WalkChange, type WalkDefinition, type WalkedSource, type WalkPosition } from './walk/walk.ts';
