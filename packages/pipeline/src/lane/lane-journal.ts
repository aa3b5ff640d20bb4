import { agedSnapshots, type BootTime, type BudgetSnapshot, type Clock, type Journal, stampedSnapshots } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import type { Lane } from './lane.ts';
import { type LaneState, STATE_KEYS, laneState } from './lane-state.ts';

/** How a credential's budgets stood when that was committed. */
export interface JournalRecord {
  /** Name of the credential. */
  readonly credential: string;
  /** A snapshot of each of the credential's budgets, as it was `ageMs` ago. */
  readonly value: readonly BudgetSnapshot[];
  /** How long ago that was when the lane was opened, ms on the log's clock. */
  readonly ageMs: number;
}

export interface LaneJournalOptions {
  readonly lane: Lane;
  readonly clock: Clock;
  /** Records of other lanes' journals. */
  readonly inherited?: readonly JournalRecord[];
}

/** A permit waits for its transaction and little else; slow disks get more. */
const SHORTEST_LEASE_MS = 1_000;
const LONGEST_LEASE_MS = 60_000;

/**
 * Keeps the budgets of a lane's credentials in the lane's state. A grant is in the next transaction: that of the page before it,
 * as a rule, so that it costs nothing extra. A settlement is written with the next transaction, at the latest when the lane is given up;
 * evidence of an answer without a page, at once.
 * The journal holds durations, which count from their commit by the log's clock: no two machines need agree on the time. On the machine
 * that has written them they count by the time since its start, because an embedded log's clock is the machine's, which may jump.
 */
export function laneJournal({ lane, clock, inherited = [] }: LaneJournalOptions): Journal {
  const openedMs = clock.monotonicMs();
  const records = [...journalRecords(lane.stateUnder), ...inherited];
  const snapshots = new Map<string, () => readonly BudgetSnapshot[]>();
  const changed = new Set<string>();

  lane.beforeCommit(() => {
    const entries = [...changed].map((credential) => {
      const own = snapshots.get(credential)?.();
      return [STATE_KEYS.budget + credential, own === undefined ? null : stampedSnapshots(own, clock)] as const;
    });
    changed.clear();
    return entries;
  });

  return {
    get leaseMs() {
      return Math.min(LONGEST_LEASE_MS, Math.max(SHORTEST_LEASE_MS, 4 * lane.slowestCommitMs));
    },
    open(credential, snapshot) {
      snapshots.set(credential, snapshot);
      const granted = (): Promise<void> => {
        changed.add(credential);
        return lane.commit({ records: [] });
      };
      return {
        restored: restored(records, credential, { sinceMs: clock.monotonicMs() - openedMs, boot: clock.boot?.() }),
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

/** The journal in a lane's state. */
export function journalRecords(under: LaneState['under']): readonly JournalRecord[] {
  return under(STATE_KEYS.budget).map(({ key, value, ageMs }) => ({ credential: key, value, ageMs }) as JournalRecord);
}

export interface InheritedBudgetsOptions {
  readonly log: TopicLog;
  readonly group: string;
  /** The compacted topic with a partition for each lane. */
  readonly stateTopic: string;
  readonly lane: number;
  readonly lanes: number;
}

/**
 * How budgets stood in the other lanes: a credential that has come from one of them, since lanes or credentials were changed, goes on with
 * the requests it has used there. A record that is older than its window says nothing any more.
 */
export async function inheritedBudgets({
  log,
  group,
  stateTopic,
  lane,
  lanes,
}: InheritedBudgetsOptions): Promise<readonly JournalRecord[]> {
  const others = Array.from({ length: lanes }, (_, other) => other).filter((other) => other !== lane);
  const found = others.map(async (other) => journalRecords(laneState(group, await log.readState(stateTopic, other)).under));
  return (await Promise.all(found)).flat();
}

interface RestoredOptions {
  /** Ms since the journals were read. */
  readonly sinceMs: number;
  /** Of this machine, where it is known. */
  readonly boot: BootTime | undefined;
}

/** All that journals say of a credential's budgets; undefined where they say nothing. */
export function restored(
  records: readonly JournalRecord[],
  credential: string,
  { sinceMs, boot }: RestoredOptions,
): readonly BudgetSnapshot[] | undefined {
  const own = records.filter((record) => record.credential === credential);
  return own.length === 0 ? undefined : merged(own.map(({ value, ageMs }) => agedSnapshots(value, ageMs + sinceMs, boot)));
}

/** Merges several journals' records of the same budgets, matched by their names, or else by their order. */
function merged(journals: readonly (readonly BudgetSnapshot[])[]): readonly BudgetSnapshot[] {
  const named = journals.flatMap((snapshots) => snapshots.map((snapshot, place) => ({ key: snapshot.name ?? place, snapshot })));
  return Array.from(Map.groupBy(named, ({ key }) => key).values(), (same) => same.map(({ snapshot }) => snapshot).reduce(sum));
}

function sum(a: BudgetSnapshot, b: BudgetSnapshot): BudgetSnapshot {
  const heldMs = Math.max(a.heldMs ?? 0, b.heldMs ?? 0);
  const freedMs = Math.min(a.freedMs ?? Infinity, b.freedMs ?? Infinity);
  const others = a.others === undefined && b.others === undefined ? undefined : [...(a.others ?? []), ...(b.others ?? [])];
  return {
    ...(a.name !== undefined && { name: a.name }),
    windowMs: Math.min(a.windowMs, b.windowMs),
    busy: [...a.busy, ...b.busy],
    ...(others !== undefined && { others }),
    ...(heldMs > 0 && { heldMs }),
    freedMs: freedMs < Infinity ? freedMs : null,
  };
}
