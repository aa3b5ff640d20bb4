export { contractChecks, type ContractChecksOptions } from './contract-checks.ts';
export type { ContractCheck, OpenTopicLog } from './contract-check.ts';
