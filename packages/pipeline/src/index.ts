/**
 * The exactly-once engine: `definePipeline` creates a pipeline from a source and topics, and `start` runs pipelines on a log.
 *
 * @packageDocumentation
 */
export { StateLostError, type Loss } from './checks/state-check.ts';
export {
  countOpenDeadLetters,
  type DeadLettersOptions,
  type OpenByCode,
  type OpenDeadLetter,
  openDeadLetters,
} from './dead-letters/open-dead-letters.ts';
export {
  type CloseDeadLettersOptions,
  dismissDeadLetters,
  type DismissOptions,
  replayDeadLetters,
  type ReplayOptions,
} from './dead-letters/replay.ts';
export { definePipeline } from './definition/define-pipeline.ts';
export { duration, type DurationOptions } from './definition/duration.ts';
export { type TopicNaming, topicNames } from './definition/names.ts';
export { type OptionIssue, type OptionIssueCode, type ParsedOptions, parseOptions } from './definition/parse-options.ts';
export type {
  CommonOptions,
  DefinedPipeline,
  DefinitionInfo,
  LaneShare,
  ListedRequest,
  Pipeline,
  SharedIo,
} from './definition/pipeline.ts';
export type { JobGroups, NamedCredential, PipelineDefinition, PipelineIo, Probe } from './definition/pipeline-definition.ts';
export { InvalidOptionsError, PipelineError, type PipelineErrorCode, type PipelineErrorOptions } from './definition/pipeline-error.ts';
export type { KeyedRequest, PipelineRequests } from './definition/pipeline-requests.ts';
export { secret, type SecretReader, type SecretInput, type SecretOptions } from './definition/secret.ts';
export {
  type PendingRecord,
  type RecordContent,
  type RecordMaker,
  type RecordMakers,
  type RecordSeriesContent,
  type RequestMaker,
  type RequestMakerOptions,
  type Serialize,
  type SerializeContext,
  topic,
  type TopicDefinition,
  type TopicMap,
  type TopicNames,
  type TopicValue,
} from './definition/topic.ts';
export type { JournalRecord } from './engine/lane-journal.ts';
export type { CrawlSize, Processor, SourceControls } from './engine/processor.ts';
export { route, type RoutedProcessors } from './engine/route.ts';
export type { StopDeadline } from './engine/stop-deadline.ts';
export { type Running, type RunResult, start, type StartOptions } from './engine/start.ts';
export { forecast, type Forecast, type ForecastOptions, type LaneWork, type WalkSize } from './forecast/forecast.ts';
export type { RestrictedWalks } from './forecast/request-sizes.ts';
export { type LaneLeft, leftToDo, type LeftToDoOptions, type LogView, type PipelineLeft, type WalkLeft } from './forecast/left-to-do.ts';
export { cancelRequests, type CancelRequestsOptions } from './lists/cancel-requests.ts';
export { lookup } from './lookup/lookup.ts';
export type { LookupDeadLetter, LookupDefinition, LookupOutcome, LookupPosition, RequestedKey } from './lookup/lookup-definition.ts';
export type { BudgetGauge, CreditGauge, Doing, LaneGauge, Reason, RequestEvent, RunEvent } from './view/events.ts';
export type { Histogram } from './view/histogram.ts';
export type { JobGroup, KeysRow, PipelineSnapshot, Progress, RunSnapshot, WalkRow, WorkRow } from './view/run-snapshot.ts';
export { walk } from './walk/walk.ts';
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
} from './walk/walk-definition.ts';
