export { type ContractCheck, type ContractService, pipelineContract, type PipelineContractOptions } from './pipeline-contract.ts';
