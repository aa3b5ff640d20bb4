export { type ContractAskOptions, type ContractCheck, sourceContract, type SourceContractOptions } from './source-contract.ts';
