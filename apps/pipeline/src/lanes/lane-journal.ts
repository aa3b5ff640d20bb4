import { agedSnapshots, type BudgetSnapshot, type Clock, type Journal } from '@headgate/throttle';
import type { Lane } from './lane.ts';

/** How a credential's budgets stood, and when that was written: durations count from there. */
interface JournalRecord {
  /** Epoch ms. */
  readonly at: number;
  readonly budgets: readonly BudgetSnapshot[];
}

const KEY = 'budget/';
/** A permit waits for its transaction and little else; slow disks get more. */
const SHORTEST_LEASE_MS = 1_000;
const LONGEST_LEASE_MS = 60_000;

/**
 * Keeps the budgets of a lane's credentials in the lane's state. A grant is in the next transaction: that of the page before it,
 * as a rule, so that it costs nothing extra. What was settled is written with whatever is written next, at the latest when the lane is given up.
 */
export function laneJournal({ lane, clock }: { readonly lane: Lane; readonly clock: Clock }): Journal {
  const saved = new Map(lane.stateUnder(KEY).map(([credential, record]) => [credential, record as JournalRecord]));
  const snapshots = new Map<string, () => readonly BudgetSnapshot[]>();
  const changed = new Set<string>();

  lane.beforeCommit(() => {
    const at = clock.epochMs();
    const records = [...changed].map(
      (credential) => [KEY + credential, { at, budgets: snapshots.get(credential)?.() ?? [] } satisfies JournalRecord] as const,
    );
    changed.clear();
    return records;
  });

  return {
    get leaseMs() {
      return Math.min(LONGEST_LEASE_MS, Math.max(SHORTEST_LEASE_MS, 4 * lane.slowestCommitMs));
    },
    open(credential, snapshot) {
      snapshots.set(credential, snapshot);
      const record = saved.get(credential);
      return {
        restored: record === undefined ? undefined : agedSnapshots(record.budgets, clock.epochMs() - record.at),
        granted() {
          changed.add(credential);
          return lane.commit({ records: [] });
        },
        settled() {
          changed.add(credential);
        },
      };
    },
  };
}
