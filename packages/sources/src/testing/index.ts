export {
  type ContractAskOptions,
  type ContractCheck,
  sourceContract,
  type SourceContractOptions,
  type UnfitAnswer,
} from './source-contract.ts';
