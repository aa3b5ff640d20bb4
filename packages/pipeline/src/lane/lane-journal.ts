import {
  agedSnapshots,
  type BootTime,
  type BudgetSnapshot,
  type Clock,
  type GrantsAhead,
  type Journal,
  stampedSnapshots,
} from '@headgate/throttle';
import { ALL_CREDENTIALS } from '@headgate/throttle/internal';
import type { TopicLog } from '@headgate/topics';
import { PipelineError } from '../settings/pipeline-error.ts';
import type { Lane } from './lane.ts';
import { type LaneState, STATE_KEYS, laneState } from './lane-state.ts';
import { readOnce } from './read-once.ts';

/** The state of a credential's budgets, as it was committed. */
export interface JournalRecord {
  /** Name of the credential. Empty for limits that apply to all credentials together. */
  readonly credential: string;
  /** A snapshot of each of the credential's budgets, `ageMs` old. */
  readonly value: readonly BudgetSnapshot[];
  /** Age of the snapshots when this record was read, in ms. */
  readonly ageMs: number;
}

/**
 * Minimum and maximum of a permit's lease, in ms. A lease is the time after the permit within which its request must be sent. Slow commits
 * get longer leases.
 */
const MIN_LEASE_MS = 1_000;
const MAX_LEASE_MS = 60_000;
/** A budget is ample from this limit on. A row then has grants ahead, one in a hundred of the window and at most 16. */
const AMPLE = 500;
const MOST_AHEAD = 16;

/**
 * Keeps the budgets of a lane's credentials in the lane's state. A permit is written with the next transaction, often that of a page, unless
 * the row has it ahead. A change after the end of a request is written with any later transaction, or immediately by `flush`.
 *
 * The state contains durations that count from their commit on the log's clock, so machines needn't agree on the time. On the machine that
 * wrote them, they count by the time since boot, because an embedded log's clock is the machine's wall clock, which can be set.
 *
 * Each request is in the journal of the lane that sent it. If a credential moves to another lane, its record in the earlier lane stays.
 *
 * `inherited`: the records of other lanes' journals. `lanes`: number of lanes of the pipeline. `grantsAhead`: write grants ahead where budgets
 * are ample.
 */
export function laneJournal(
  lane: Pick<Lane, 'partition' | 'stateUnder' | 'beforeCommit' | 'commit' | 'slowestCommitMs'>,
  clock: Clock,
  inherited: readonly JournalRecord[] = [],
  lanes = 1,
  grantsAhead = false,
): Journal {
  const openedMs = clock.monotonicMs();
  const own = byCredential(journalRecords(lane.stateUnder));
  const others = byCredential(inherited);
  const rows = new Map<string, JournalRow>();
  const leaseMs = (): number => Math.min(MAX_LEASE_MS, Math.max(MIN_LEASE_MS, 4 * lane.slowestCommitMs));

  lane.beforeCommit(
    () => [...rows].filter(([, row]) => row.isChanged).map(([credential, row]) => [STATE_KEYS.budget + credential, row.written()]),
    () => {
      for (const row of rows.values()) row.durable();
    },
  );

  return {
    get leaseMs() {
      return leaseMs();
    },
    open(credential, snapshots, least = 0) {
      const [shared] = credential === ALL_CREDENTIALS && lanes > 1 ? snapshots() : [];
      if (shared !== undefined) throw notShared(shared.name, lanes);
      const ahead = grantsAhead && least >= AMPLE ? Math.min(MOST_AHEAD, Math.floor(least / 100)) : 0;
      const row = new JournalRow(snapshots, ahead, clock, leaseMs);
      rows.set(credential, row);
      const write = async (): Promise<void> => {
        row.isChanged = true;
        await lane.commit({ records: [] });
      };
      const sinceMs = clock.monotonicMs() - openedMs;
      const kept = restored(own, credential, clock.boot?.(), sinceMs);
      const elsewhere = restored(others, credential, clock.boot?.(), sinceMs)?.map((one) => ({ ...one, elsewhere: true }));
      return {
        restored: (kept ?? elsewhere) && [...(kept ?? []), ...(elsewhere ?? [])],
        granted: async (weight = 1) => {
          if (!row.granted(weight)) await write();
        },
        settled(weight = 0) {
          row.settled(weight);
        },
        // The lane reports failed commits itself, through `onFailure`.
        flush: () => void write().catch(() => undefined),
      };
    },
  };
}

/** The grants that a row has in the log: by weight, and until when their requests may be sent, on both clocks. */
interface Cover {
  readonly upTo: number;
  readonly untilMs: number;
  readonly untilEpochMs: number;
}

const NOTHING: Cover = { upTo: 0, untilMs: -Infinity, untilEpochMs: -Infinity };

/**
 * A credential's row. While grants are taken, each writing also counts the next ones as requests in flight, so that these may be sent without
 * waiting for the next writing. Whatever a process sends is in every row that may be the last one in the log when the process dies.
 */
class JournalRow {
  /** True if the next transaction should write the row. */
  isChanged = false;
  readonly #snapshots: (ahead?: GrantsAhead) => readonly BudgetSnapshot[];
  readonly #mostAhead: number;
  readonly #clock: Clock;
  readonly #leaseMs: () => number;
  /** Weight of all grants and added costs so far, and when the row was last written. */
  #granted = 0;
  #counted = 0;
  /** What the row in the log covers, before and after the transaction on its way. */
  #cover: Cover = NOTHING;
  /** What the row covers when the transaction on its way is durable. */
  #next: Cover = NOTHING;

  constructor(snapshots: (ahead?: GrantsAhead) => readonly BudgetSnapshot[], mostAhead: number, clock: Clock, leaseMs: () => number) {
    this.#snapshots = snapshots;
    this.#mostAhead = mostAhead;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** Notes a grant. Returns true if the row in the log has it already. */
  granted(weight: number): boolean {
    this.#granted += weight;
    const { upTo, untilMs, untilEpochMs } = this.#cover;
    // The monotonic clock may stop while the machine sleeps, and the wall clock may be set back, so both must agree.
    const leftMs = Math.min(untilMs - this.#clock.monotonicMs(), untilEpochMs - this.#clock.epochMs());
    return this.#granted <= upTo && this.#leaseMs() <= leftMs;
  }

  /** Notes that the budgets have changed. A cost that only a response shows uses up what is ahead. */
  settled(weight: number): void {
    this.isChanged = true;
    this.#granted += weight;
  }

  /** Returns the row as the next transaction writes it. */
  written(): readonly BudgetSnapshot[] {
    const weight = this.#granted > this.#counted ? this.#mostAhead : 0;
    const withinMs = 2 * this.#leaseMs();
    this.#next = {
      upTo: this.#granted + weight,
      untilMs: this.#clock.monotonicMs() + withinMs,
      untilEpochMs: this.#clock.epochMs() + withinMs,
    };
    this.#cover = leastOf(this.#cover, this.#next);
    this.#counted = this.#granted;
    // The last transaction of a lane takes back what it has ahead.
    this.isChanged = weight > 0;
    return stampedSnapshots(this.#snapshots(weight > 0 ? { weight, withinMs } : undefined), this.#clock);
  }

  durable(): void {
    this.#cover = this.#next;
  }
}

function leastOf(one: Cover, other: Cover): Cover {
  return {
    upTo: Math.min(one.upTo, other.upTo),
    untilMs: Math.min(one.untilMs, other.untilMs),
    untilEpochMs: Math.min(one.untilEpochMs, other.untilEpochMs),
  };
}

/** The error for a limit on all credentials together in a pipeline with several lanes. Each lane would use the whole limit. */
function notShared(limit: string | undefined, lanes: number): PipelineError {
  const message = `the limit ${limit} is shared by all credentials, and ${lanes} lanes can't share it. Set lanes to 1, or give each credential its own limit.`;
  return new PipelineError({ code: 'HEADGATE_INVALID_OPTION', message });
}

export function journalRecords(under: LaneState['under']): readonly JournalRecord[] {
  return under(STATE_KEYS.budget).map(({ key, value, ageMs }) => ({ credential: key, value, ageMs }) as JournalRecord);
}

export type RecordsByCredential = ReadonlyMap<string, readonly JournalRecord[]>;

export function byCredential(records: readonly JournalRecord[]): RecordsByCredential {
  return Map.groupBy(records, ({ credential }) => credential);
}

/** Reads the journal of a lane from its pipeline's state topic. */
export type JournalReader = (stateTopic: string, lane: number) => Promise<readonly JournalRecord[]>;

/** Creates a reader that reads each journal once for all lanes that open together. Without it, 32 lanes would read 992 states. */
export function journalReader(log: Pick<TopicLog, 'readState'>, group: string, clock: Clock): JournalReader {
  const once = readOnce(clock, async (stateTopic: string, lane: number) =>
    journalRecords(laneState(group, await log.readState(stateTopic, lane)).under),
  );
  return async (stateTopic, lane) => {
    const { value, atMs } = await once(stateTopic, lane);
    const sinceMs = clock.monotonicMs() - atMs;
    return value.map((record) => ({ ...record, ageMs: record.ageMs + sinceMs }));
  };
}

/**
 * Reads the budgets in the journals of the other lanes. After a change of lanes or credentials, a credential can come from another lane,
 * and the requests that it sent there still count. `stateTopic`: the pipeline's state topic, which has a partition for each lane.
 */
export async function inheritedBudgets(
  journals: JournalReader,
  stateTopic: string,
  lane: number,
  lanes: number,
): Promise<readonly JournalRecord[]> {
  const others = Array.from({ length: lanes }, (_, other) => other).filter((other) => other !== lane);
  return (await Promise.all(others.map(async (other) => await journals(stateTopic, other)))).flat();
}

/**
 * Returns what the journals contain about a credential's budgets, aged, each lane's by itself. Undefined if they contain nothing. `sinceMs`:
 * ms since the journals were read.
 */
export function restored(
  records: RecordsByCredential,
  credential: string,
  boot: BootTime | undefined,
  sinceMs = 0,
): readonly BudgetSnapshot[] | undefined {
  // Ages are differences of times that are rounded down to 1 ms.
  return records.get(credential)?.flatMap(({ value, ageMs }) => agedSnapshots(value, ageMs + sinceMs - 1, boot));
}
