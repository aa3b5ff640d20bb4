export {
  type ContractQueryOptions,
  type ContractCheck,
  type EndlessWalk,
  sourceContract,
  type SourceContractOptions,
  type UnfitAnswer,
} from './source-contract.ts';
