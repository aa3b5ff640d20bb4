/**
 * The contract of a pipeline: checks that cut runs off and stop them anywhere, for any test runner.
 *
 * @packageDocumentation
 */
export { type ContractCheck, type ContractService, pipelineContract, type PipelineContractOptions } from './pipeline-contract.ts';
