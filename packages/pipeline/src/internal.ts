/**
 * Exports for Headgate's other packages. They can change with every version.
 *
 * @packageDocumentation
 */
export { findOtherGroups, type OtherGroupsOptions } from './run/other-groups.ts';
export { assertStatesKept } from './lane/state-check.ts';
export { byteSize } from './settings/byte-size.ts';
export { timeOfDay, timeZone } from './settings/calendar.ts';
export { type CredentialIdentity, distinctCredentials } from './definition/distinct-credentials.ts';
export { plainFileFlaw, plainFileText, unreadable } from './settings/file-text.ts';
export { type Amount, httpOptions, isLoopback, plainHttpWarning, sourceOptions } from './settings/http-options.ts';
export { lanesOf } from './topics/names.ts';
export { nearest } from './settings/nearest.ts';
export { pemText } from './settings/pem.ts';
export { becomesSecret, isPem, isScalar, OF_FILE, type Scalar, scalar, type ScalarOptions } from './settings/scalar.ts';
export { EXPLAINED_REFUSALS } from './run/refusal-watch.ts';
export { nothingChosen } from './run/list-again.ts';
export { proxyAddress } from './settings/secret.ts';
export { TOPIC_FORMATS } from './topics/topic.ts';
export { definedTopics, growthWords, type PipelineTopics, topicSpecs } from './topics/topics.ts';
export { openJournalledLane, type OpenJournalledLaneOptions } from './lane/journalled-lane.ts';
export type { JournalReader } from './lane/lane-journal.ts';
export type { Left, SizedJob, Work, WorkContext } from './definition/processor.ts';
export { growingGroups } from './progress/growing-groups.ts';
export { type SteadyTime, steadyTime } from './events/steady-time.ts';
