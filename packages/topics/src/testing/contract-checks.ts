import { byteChecks } from './byte-checks.ts';
import type { DriverCheck } from './contract-check.ts';
import { laneChecks } from './lane-checks.ts';
import { newcomerFencesChecks, newcomerRefusedChecks } from './newcomer-checks.ts';
import { readChecks } from './read-checks.ts';
import { recordChecks } from './record-checks.ts';

/** Options of {@link contractChecks}. */
export interface ContractChecksOptions {
  /**
   * What happens when a held lane is opened: the second holder is refused while the first one lives, or it fences the first one. Default
   * 'refused'.
   */
  readonly newcomer?: 'refused' | 'fences';
}

/**
 * The promises of `TopicLog` as a list of checks. Run each in the test runner of your choice, with a function that opens the driver under test.
 * On a local file, most checks take milliseconds. For a driver with a network, raise the runner's timeout.
 */
export function contractChecks(options: ContractChecksOptions = {}): readonly DriverCheck[] {
  const { newcomer = 'refused' } = options;
  return [
    ...recordChecks(),
    ...byteChecks(),
    ...laneChecks(),
    ...readChecks(),
    ...(newcomer === 'refused' ? newcomerRefusedChecks() : newcomerFencesChecks()),
  ];
}
