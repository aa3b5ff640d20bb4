import { agedSnapshots, type BudgetSnapshot, type Clock, type Journal } from '@headgate/throttle';
import { TOPICS } from '../records/topic-names.ts';
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
 * as a rule, so that it costs nothing extra. What was settled is written with whatever is written next, at the latest when the lane is given up;
 * what an answer without a page has shown, at once.
 * Durations are written, and count from their commit by the log's clock: no two machines need agree on the time.
 */
export function laneJournal({ lane, clock, inherited = [] }: LaneJournalOptions): Journal {
  const openedMs = clock.monotonicMs();
  const own = lane.stateUnder(BUDGET).map(({ key, value, ageMs }) => ({ credential: key, value, ageMs }) as JournalEntryRecord);
  const snapshots = new Map<string, () => readonly BudgetSnapshot[]>();
  const changed = new Set<string>();

  lane.beforeCommit(() => {
    const records = [...changed].map((credential) => [BUDGET + credential, snapshots.get(credential)?.() ?? null] as const);
    changed.clear();
    return records;
  });
  /** The key of a books lane is called by its plan; under another plan it is the same key. */
  const isSame = (one: string, other: string): boolean => one === other || lane.topic === TOPICS.booksRequests;

  return {
    get leaseMs() {
      return Math.min(LONGEST_LEASE_MS, Math.max(SHORTEST_LEASE_MS, 4 * lane.slowestCommitMs));
    },
    open(credential, snapshot) {
      snapshots.set(credential, snapshot);
      const records = [...own, ...inherited].filter((record) => isSame(record.credential, credential));
      // Its entry goes on under the new name alone: read from both it would count twice.
      const former = own.filter((record) => record.credential !== credential && isSame(record.credential, credential));
      for (const name of former.length === 0 ? [] : [credential, ...former.map((record) => record.credential)]) changed.add(name);
      const granted = (): Promise<void> => {
        changed.add(credential);
        return lane.commit({ records: [] });
      };
      const sinceMs = clock.monotonicMs() - openedMs;
      return {
        restored: records.length === 0 ? undefined : together(records.map(({ value, ageMs }) => agedSnapshots(value, ageMs + sinceMs))),
        granted,
        settled() {
          changed.add(credential);
        },
        // The lane itself says that it can't be written any more.
        learned: () => void granted().catch(() => undefined),
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
        const freedMs = Math.min(a.freedMs ?? Infinity, b.freedMs ?? Infinity);
        const busy = [...a.busy, ...b.busy].sort(([one], [other]) => one - other);
        return {
          windowMs: Math.min(a.windowMs, b.windowMs),
          busy,
          ...(heldMs > 0 && { heldMs }),
          freedMs: freedMs < Infinity ? freedMs : null,
        };
      }),
    first,
  );
}
