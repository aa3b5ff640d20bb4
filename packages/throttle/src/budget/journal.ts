import type { BootTime } from '../clock.ts';

/** Name of the journal entry for limits over all credentials. */
export const ALL_CREDENTIALS = '';

/**
 * Makes grants durable before their requests are sent, so that a process that takes over continues the same windows. Snapshots contain
 * durations, not instants: a later reader subtracts the time that has passed.
 */
export interface Journal {
  /**
   * Opens the entry of a credential, or, for the name `''`, of the limits over all credentials. `snapshots` returns the current state of
   * the entry's budgets, in their order, with `ahead` in each of them. `least`: the least limit of these budgets; 0, the default, if
   * requests use other budgets as well, so that no grants may be written ahead.
   */
  open(credential: string, snapshots: (ahead?: GrantsAhead) => readonly BudgetSnapshot[], least?: number): JournalEntry;
  /** Maximum time from a grant to the first byte of its request, in ms, so that a suspended process doesn't send late. */
  readonly leaseMs: number;
}

/** Grants that a journal has before they are taken, so that their requests needn't wait for it. After a crash they count as sent. */
export interface GrantsAhead {
  /** Requests, or units of weight. */
  readonly weight: number;
  /** Maximum time from the snapshot to the first byte of such a request, in ms. */
  readonly withinMs: number;
}

/** One credential's entry in a journal. */
export interface JournalEntry {
  /** The budgets as an earlier process left them, with durations from the call of `open`; undefined if the journal has none. */
  readonly restored: readonly BudgetSnapshot[] | undefined;
  /**
   * Makes a grant durable that was just taken, unless the journal has it ahead. Resolves when it is durable; send the request only then.
   * `weight`: the most that the request costs in a budget. Default 1.
   */
  granted(weight?: number): Promise<void>;
  /**
   * Reports that the budgets have changed. The journal's next write includes this entry. `weight`: the most that a response has added to the
   * cost of its request. Default 0.
   */
  settled(weight?: number): void;
  /** Writes the state of the budgets in the background, and ignores an error. Call it if the next grant may be far off. */
  flush(): void;
}

/** Creates a journal that writes nothing. `restored` returns the budgets that an earlier process left for a credential. Default: none. */
export function unwrittenJournal(restored: (credential: string) => JournalEntry['restored'] = () => undefined): Journal {
  return {
    leaseMs: 1_000,
    open: (credential) => ({
      restored: restored(credential),
      granted: () => Promise.resolve(),
      settled: () => undefined,
      flush: () => undefined,
    }),
  };
}

/** The state of a budget as JSON. */
export interface BudgetSnapshot {
  /** The budget's name, if it has one. */
  readonly name?: string;
  /** Length of the budget's window, in ms, when the snapshot was taken. A later process may use another length. */
  readonly windowMs: number;
  /**
   * When a daily or monthly budget resets, such as `day 00:00 UTC`; null for a rolling window. A later process may use another reset.
   * Absent in snapshots of earlier versions.
   */
  readonly resets?: string | null;
  /** The busy slots: ms until they are free, and their weight. A slot with a time of 0 or less is free again. */
  readonly busy: readonly (readonly [ms: number, weight: number])[];
  /** The expected use by other clients: ms until it expires, and its weight. Absent if nothing is known about it. */
  readonly others?: readonly (readonly [ms: number, weight: number])[];
  /** Time for which nothing may start at all, in ms. Default 0. */
  readonly heldMs?: number;
  /** Ms since the last slot that `busy` omits became free; null if there was none. Default 0. */
  readonly freedMs?: number | null;
  /** Time since the snapshot was written, in ms. Default 0. */
  readonly ageMs?: number;
  /**
   * True if another row of the journal keeps this state. `RateBudget.restore` then counts it, and `RateBudget.snapshot` leaves it out, so
   * that each request is in one row. Set when a snapshot is read, and never written. Default false.
   */
  readonly elsewhere?: boolean;
  /** The machine's start and uptime when the snapshot was written, if known. */
  readonly boot?: BootTime;
}
