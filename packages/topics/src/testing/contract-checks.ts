import { byteChecks } from './byte-checks.ts';
import type { DriverCheck } from './contract-check.ts';
import { laneChecks } from './lane-checks.ts';
import { newcomerFencesChecks, newcomerRefusedChecks } from './newcomer-checks.ts';
import { readChecks } from './read-checks.ts';
import { recordChecks } from './record-checks.ts';

/** Options of {@link contractChecks}. */
export interface ContractChecksOptions {
  /**
   * The result of opening a held lane: the second holder is `refused` while the older one lives, or it `fences` the older one. Default
   * 'refused'.
   */
  readonly newcomer?: 'refused' | 'fences';
}

/**
 * The promises of `TopicLog` as a list of checks: hand each to the test runner of your choice with a way to open the driver under test.
 * Most take milliseconds on a local file; give each as long as the driver's slowest round trip needs.
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
