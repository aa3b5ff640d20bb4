/**
 * Tools for testing a pipeline, with any test runner: `pipelineContract`, whose checks interrupt and stop runs at random; `cutLog`, a log
 * that fails at one operation; and `doneInVirtualTime`, which advances the virtual clock of a run.
 *
 * @packageDocumentation
 */
export { type CutLog, type CutLogOptions, cutLog } from './cut-log.ts';
export { doneInVirtualTime, type DoneInVirtualTimeOptions } from './virtual-time.ts';
export type { ContractCheck } from '@headgate/sources/testing';
export { type ContractService, pipelineContract, type PipelineContractOptions } from './pipeline-contract.ts';
