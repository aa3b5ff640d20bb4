import { resolve } from 'node:path';
import { type Clock, systemClock } from '../../clock.ts';
import { agedSnapshots, stampedSnapshots } from '../aged-snapshots.ts';
import type { BudgetSnapshot, Journal } from '../journal.ts';
import { openJournalRows } from './journal-rows.ts';

/** Options of {@link fileJournal}. */
export interface FileJournalOptions {
  /**
   * Path of an SQLite database. If it is missing, it is created with its folder, readable only by its owner. Only one journal at a time can
   * have it open.
   */
  readonly file: string;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

/** A journal in a file. */
export interface FileJournal extends Journal, AsyncDisposable {
  /** Writes every change that the file doesn't have yet, and closes the file. */
  close(): Promise<void>;
}

const SHORTEST_LEASE_MS = 1_000;

/**
 * Opens a journal in a file, with a row for each credential. `granted` of its entries resolves when the grant is written and synced. A
 * write blocks the thread until the disk has it. Rejects with a `FileJournalError` if the file can't be read or written, or if this process
 * or another one has it open.
 */
export async function fileJournal({ file, clock = systemClock() }: FileJournalOptions): Promise<FileJournal> {
  const rows = await openJournalRows(resolve(file));
  const snapshots = new Map<string, () => readonly BudgetSnapshot[]>();
  const changed = new Set<string>();
  let slowestMs = 0;
  let next: Promise<void> | undefined;
  let closed: Promise<void> | undefined;

  const write = (): void => {
    next = undefined;
    const startedMs = clock.monotonicMs();
    const at = clock.epochMs();
    rows.save(
      Array.from(changed, (credential) => ({ credential, at, budgets: stampedSnapshots(snapshots.get(credential)?.() ?? [], clock) })),
    );
    // Skipped after an error, so that the next write includes these changes.
    changed.clear();
    slowestMs = Math.max(slowestMs * 0.9, clock.monotonicMs() - startedMs);
  };
  const close = (): Promise<void> =>
    (closed ??= Promise.resolve().then(() => {
      try {
        if (changed.size > 0) write();
      } finally {
        rows.close();
      }
    }));
  return {
    get leaseMs() {
      return Math.max(SHORTEST_LEASE_MS, 4 * slowestMs);
    },
    open(credential, snapshot) {
      snapshots.set(credential, snapshot);
      const row = rows.row(credential);
      /** All grants of one synchronous step share a write. */
      const granted = (): Promise<void> => {
        changed.add(credential);
        return (next ??= Promise.resolve().then(write));
      };
      return {
        restored: row === undefined ? undefined : agedSnapshots(row.budgets, clock.epochMs() - row.at, clock.boot?.()),
        granted,
        settled: () => void changed.add(credential),
        // An error is ignored, because the next write includes this change, too.
        flush: () => void granted().catch(() => undefined),
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
