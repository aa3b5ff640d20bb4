/**
 * The contract of a source: checks against a misbehaving service, for any test runner.
 *
 * @packageDocumentation
 */
export {
  type ContractQueryOptions,
  type ContractCheck,
  type EndlessWalk,
  sourceContract,
  type SourceContractOptions,
  type MismatchingResponse,
} from './source-contract.ts';
