/**
 * Exports for Headgate's other packages. They can change with every version.
 *
 * @packageDocumentation
 */
export { findOtherGroups, type OtherGroupsOptions } from './checks/other-groups.ts';
export { replayPermissions, requiredPermissions, type RequiredPermissionsOptions } from './checks/required-permissions.ts';
export { assertStatesKept } from './checks/state-check.ts';
export { byteSize } from './definition/byte-size.ts';
export { timeOfDay, timeZone } from './definition/calendar.ts';
export { type CredentialIdentity, distinctCredentials } from './definition/distinct-credentials.ts';
export { plainFileFlaw, plainFileText, unreadable } from './definition/file-text.ts';
export { type Amount, httpOptions, sourceOptions } from './definition/http-options.ts';
export { lanesOf } from './definition/names.ts';
export { nearest } from './definition/nearest.ts';
export { pemText } from './definition/pem.ts';
export { becomesSecret, isPem, isScalar, OF_FILE, type Scalar, scalar, type ScalarOptions } from './definition/scalar.ts';
export { proxyAddress } from './definition/secret.ts';
export { definedTopics, type PipelineTopics, topicSpecs } from './definition/topics.ts';
export { openJournalledLane, type OpenJournalledLaneOptions } from './engine/journalled-lane.ts';
export type { JournalReader } from './engine/lane-journal.ts';
export type { LastCrawlOf, Left, StateOfLane, Worker, WorkerContext } from './engine/processor.ts';
export { growingGroups } from './forecast/growing-groups.ts';
export { savedByCredential, walksDone } from './forecast/forecast.ts';
export { type SteadyTime, steadyTime } from './view/steady-time.ts';
export { MAX_IN_WORK } from './walk/walk.ts';
