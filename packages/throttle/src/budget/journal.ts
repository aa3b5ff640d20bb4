import type { BootTime } from '../clock.ts';

/** The name of the entry of limits over all credentials. No credential can have it. */
export const ALL_CREDENTIALS = '';

/**
 * Makes grants durable before their requests are sent, so that a process that takes over continues the same windows. It writes durations,
 * not instants: a later reader subtracts the time that has passed.
 */
export interface Journal {
  /** Opens a credential's entry; by the name `''`, that of limits over all credentials. `snapshots` returns the current state of its budgets, in their order. */
  open(credential: string, snapshots: () => readonly BudgetSnapshot[]): JournalEntry;
  /** Maximum time between a permit's grant and its first byte, in ms: a process that was suspended must not send late. */
  readonly leaseMs: number;
}

/** One credential's entry in a journal. */
export interface JournalEntry {
  /** The slots that an earlier process left busy, counted from now; undefined if there are none. */
  readonly restored: readonly BudgetSnapshot[] | undefined;
  /** Writes the state of the budgets. Resolves when it is durable. Send the granted request only then. */
  granted(): Promise<void>;
  /** The budgets have changed: the journal's next write includes this entry. */
  settled(): void;
  /** Writes the budgets in the background: a response without a page has changed them. */
  flush(): void;
}

/** A journal that writes nothing, for sources that send nothing. `restored`: what an earlier process left of a credential. Default: nothing. */
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
  /** Name of the credential's budget, if it has one. */
  readonly name?: string;
  /** Length of the budget's window, in ms, when the snapshot was taken. A later reader may have another. */
  readonly windowMs: number;
  /** How much is busy, and for how long; a negative time has already passed. */
  readonly busy: readonly (readonly [ms: number, weight: number])[];
  /** The expected use by other clients: its duration and weight; absent if no response has shown the remaining budget. */
  readonly others?: readonly (readonly [ms: number, weight: number])[];
  /** For how long nothing may start at all. */
  readonly heldMs?: number;
  /** How long ago the last slot missing from `busy` became free; null if there was none. Default: just then. */
  readonly freedMs?: number | null;
  /** The machine's uptime when the snapshot was written, if known. */
  readonly boot?: BootTime;
}
