/**
 * The promises of `TopicLog` as checks of a driver, for any test runner.
 *
 * @packageDocumentation
 */
export { contractChecks, type ContractChecksOptions } from './contract-checks.ts';
export type { DriverCheck, OpenTopicLog } from './contract-check.ts';
