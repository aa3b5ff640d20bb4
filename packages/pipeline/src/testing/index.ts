/**
 * The contract of a pipeline: checks that cut runs off and stop them anywhere, for any test runner; and runs in virtual time.
 *
 * @packageDocumentation
 */
export { doneInVirtualTime, type DoneInVirtualTimeOptions } from './virtual-time.ts';
export { type ContractCheck, type ContractService, pipelineContract, type PipelineContractOptions } from './pipeline-contract.ts';
