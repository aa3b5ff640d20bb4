/**
 * The contract of a pipeline: checks that cut runs off and stop them anywhere, for any test runner; a log that is cut off; and runs in virtual time.
 *
 * @packageDocumentation
 */
export { type CutLog, type CutLogOptions, cutLog } from './cut-log.ts';
export { doneInVirtualTime, type DoneInVirtualTimeOptions } from './virtual-time.ts';
export type { ContractCheck } from '@headgate/sources/testing';
export { type ContractService, pipelineContract, type PipelineContractOptions } from './pipeline-contract.ts';
