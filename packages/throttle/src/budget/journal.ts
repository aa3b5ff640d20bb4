import type { BootTime } from '../clock.ts';

/**
 * Makes grants durable before their requests are sent, so that a process that takes over continues the same windows. It writes durations,
 * not instants: a later reader subtracts the time that has passed.
 */
export interface Journal {
  /** Opens a credential's entry. `snapshots` says at any time how its budgets stand, in their order. */
  open(credential: string, snapshots: () => readonly BudgetSnapshot[]): JournalEntry;
  /** Longest a permit may wait between its grant and its first byte, in ms: a process that was suspended must not send late. */
  readonly leaseMs: number;
}

/** One credential's place in a journal. */
export interface JournalEntry {
  /** The slots that an earlier process left busy, counted from now; undefined where there are none. */
  readonly restored: readonly BudgetSnapshot[] | undefined;
  /** Writes how the budgets stand. Resolves when it is durable: then, and not before, the request that was granted may be sent. */
  granted(): Promise<void>;
  /** A grant was settled: the next write includes it. */
  settled(): void;
  /** Writes the budgets in the background: an answer without a page has changed them. */
  learned(): void;
}

/** How a budget stands, as JSON can hold it. */
export interface BudgetSnapshot {
  /** Which of a credential's budgets it is, where they have names. */
  readonly name?: string;
  /** Length of the budget's window, in ms, when the snapshot was taken. A later reader may have another. */
  readonly windowMs: number;
  /** For how long how much is busy; below 0 what was until so long ago. */
  readonly busy: readonly (readonly [ms: number, weight: number])[];
  /** The expected use of other clients: its duration and weight; absent where no answer has shown the remaining budget. */
  readonly others?: readonly (readonly [ms: number, weight: number])[];
  /** For how long nothing may start at all. */
  readonly heldMs?: number;
  /** How long ago the last came free of what `busy` does not show; null where nothing ever did. Default: just then. */
  readonly freedMs?: number | null;
  /** How long the machine had been up when the snapshot was written, where that is known. */
  readonly boot?: BootTime;
}
