/**
 * The contract of a driver of topics: checks for any test runner.
 *
 * @packageDocumentation
 */
export { contractChecks, type ContractChecksOptions } from './contract-checks.ts';
export type { DriverCheck, OpenTopicLog } from './contract-check.ts';
