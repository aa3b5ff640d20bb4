import type { BudgetSnapshot, Journal, JournalEntry } from '@headgate/throttle';
import { ALL_CREDENTIALS } from '@headgate/throttle/internal';
import { SourceError } from '../source-error.ts';

/** The journal of a source. The source keeps its entries until it is closed: no other source can open them. */
export interface JournalEntries extends Journal {
  /** Returns the state in an entry without keeping the entry. */
  read(name: string): readonly BudgetSnapshot[];
  /** Lets other sources open the entries. They continue the budgets of this one. */
  release(): void;
}

interface Kept {
  readonly service: string;
  readonly snapshots: () => readonly BudgetSnapshot[];
  /** The source that keeps the entry; undefined after it was closed. */
  owner: object | undefined;
}

/** The entries of each journal that were opened, by name. A journal has one state per entry, so two sources would overwrite each other's. */
const entriesOf = new WeakMap<Journal, Map<string, Kept>>();

/** Opens a journal for a source. The returned `open` throws a `SourceError` for an entry that another source keeps. */
export function journalEntries(journal: Journal, service: string): JournalEntries {
  const all = entriesOf.get(journal) ?? new Map<string, Kept>();
  entriesOf.set(journal, all);
  const owner = {};
  return {
    get leaseMs() {
      return journal.leaseMs;
    },
    open(name, snapshots): JournalEntry {
      const before = all.get(name);
      if (before?.owner !== undefined && before.owner !== owner) throw keptError(service, name, before.service);
      // The journal may have read its entries long ago, but the budgets of a closed source are up to date.
      const known = before?.snapshots();
      const entry = journal.open(name, snapshots);
      all.set(name, { service, snapshots, owner });
      const elsewhere = entry.restored?.filter((one) => one.elsewhere === true) ?? [];
      return {
        restored: known === undefined ? entry.restored : [...known, ...elsewhere],
        granted: () => entry.granted(),
        settled: () => entry.settled(),
        flush: () => entry.flush(),
      };
    },
    read: (name) => all.get(name)?.snapshots() ?? journal.open(name, () => []).restored ?? [],
    release() {
      for (const kept of all.values()) if (kept.owner === owner) kept.owner = undefined;
    },
  };
}

function keptError(service: string, name: string, other: string): SourceError {
  const [what, cure] =
    name === ALL_CREDENTIALS
      ? ['limits that all credentials share', 'Share limits in only one of them, give each its own journal']
      : [`a credential ${JSON.stringify(name)}`, "Give each source's credential its own name"];
  const message =
    `${service}: another source (${other}) has ${what} in the same journal. Each would overwrite the other's used budget, and a restart ` +
    `would exceed it. ${cure}, or close the other source first.`;
  return new SourceError({
    code: 'HEADGATE_INVALID_OPTION',
    retryable: false,
    service,
    ...(name !== ALL_CREDENTIALS && { credential: name }),
    message,
  });
}
