import { agedSnapshots, type BudgetSnapshot, type Clock, type Journal } from '@headgate/throttle';
import type { Lane } from './lane.ts';

export interface LaneJournalOptions {
  readonly lane: Lane;
  readonly clock: Clock;
  /** What other lanes' journals say. */
  readonly inherited?: readonly JournalEntryRecord[];
}

/** How a credential's budgets stood when that was committed. */
export interface JournalEntryRecord {
  readonly credential: string;
  readonly value: readonly BudgetSnapshot[];
  /** How long ago that was when the lane was opened, ms on the log's clock. */
  readonly ageMs: number;
}

export const BUDGET = 'budget/';
/** A permit waits for its transaction and little else; slow disks get more. */
const SHORTEST_LEASE_MS = 1_000;
const LONGEST_LEASE_MS = 60_000;

/**
 * Keeps the budgets of a lane's credentials in the lane's state. A grant is in the next transaction: that of the page before it,
 * as a rule, so that it costs nothing extra. What was settled is written with whatever is written next, at the latest when the lane is given up.
 * Durations are written, and count from their commit by the log's clock: no two machines need agree on the time.
 */
export function laneJournal({ lane, clock, inherited = [] }: LaneJournalOptions): Journal {
  const openedMs = clock.monotonicMs();
  const own = lane.stateUnder(BUDGET).map(({ key, value, ageMs }) => ({ credential: key, value, ageMs }) as JournalEntryRecord);
  const snapshots = new Map<string, () => readonly BudgetSnapshot[]>();
  const changed = new Set<string>();

  lane.beforeCommit(() => {
    const records = [...changed].map((credential) => [BUDGET + credential, snapshots.get(credential)?.() ?? []] as const);
    changed.clear();
    return records;
  });

  return {
    get leaseMs() {
      return Math.min(LONGEST_LEASE_MS, Math.max(SHORTEST_LEASE_MS, 4 * lane.slowestCommitMs));
    },
    open(credential, snapshot) {
      snapshots.set(credential, snapshot);
      const records = [...own, ...inherited].filter((record) => record.credential === credential);
      const sinceMs = clock.monotonicMs() - openedMs;
      return {
        restored: records.length === 0 ? undefined : together(records.map(({ value, ageMs }) => agedSnapshots(value, ageMs + sinceMs))),
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

/** What several journals say of the same budgets. */
function together([first = [], ...others]: readonly (readonly BudgetSnapshot[])[]): readonly BudgetSnapshot[] {
  return others.reduce(
    (sum, more) =>
      Array.from({ length: Math.max(sum.length, more.length) }, (_, i) => {
        const [a, b] = [sum[i], more[i]];
        if (a === undefined || b === undefined) return (a ?? b) as BudgetSnapshot;
        const heldMs = Math.max(a.heldMs ?? 0, b.heldMs ?? 0);
        const busy = [...a.busy, ...b.busy].sort(([one], [other]) => one - other);
        return { windowMs: Math.min(a.windowMs, b.windowMs), busy, ...(heldMs > 0 && { heldMs }) };
      }),
    first,
  );
}
