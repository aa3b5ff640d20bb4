import { agedSnapshots, type BudgetSnapshot, type Clock, type GrantsAhead, type Journal, type JournalEntry } from '@headgate/throttle';
import { ALL_CREDENTIALS } from '@headgate/throttle/internal';
import { type NamedBudget, namedSnapshots } from '../budget-slots.ts';
import { SourceError } from '../source-error.ts';
import type { SourceCredential } from './source-credential.ts';

/** The rows of a journal that a source has opened. It keeps them until it is closed: no other source can open them. */
export interface OpenRows {
  /** The journal's entries by credential. Their writes include the row of the shared budgets. */
  readonly entries: ReadonlyMap<string, JournalEntry>;
  /** Lets other sources open the rows. They continue the budgets of this one. */
  readonly release: () => void;
}

interface Kept {
  readonly service: string;
  readonly snapshots: () => readonly BudgetSnapshot[];
  /** The source that keeps the row; undefined after it was closed. */
  owner: object | undefined;
}

/** The rows of each journal that were opened, by name. A journal has one state per row, so two sources would overwrite each other's. */
const rowsOf = new WeakMap<Journal, Map<string, Kept>>();

/**
 * Opens the rows of a source's credentials and of its shared budgets, and restores the budgets. Each request is in one row: that of its
 * credential, or that of the shared budgets if its budget was shared, or has become shared since. A budget counts every row that may concern
 * it, and writes only its own: a credential's budget also counts the row of the shared budgets, because it may have been shared when that was
 * written. Throws a `SourceError` for a row that another source keeps.
 */
export function openRows(
  journal: Journal,
  service: string,
  clock: Clock,
  credentials: readonly Pick<SourceCredential, 'name' | 'own'>[],
  shared: readonly NamedBudget[],
): OpenRows {
  const all = rowsOf.get(journal) ?? new Map<string, Kept>();
  rowsOf.set(journal, all);
  const owner = {};
  const release = (): void => {
    for (const kept of all.values()) if (kept.owner === owner) kept.owner = undefined;
  };
  /** Opens a row. `restore`: takes a snapshot of the row; returns false if no budget has taken it, so that the row keeps it. */
  const open = (
    name: string,
    budgets: readonly NamedBudget[],
    restore: (snapshot: BudgetSnapshot) => boolean,
  ): { readonly entry: JournalEntry; readonly restored: readonly BudgetSnapshot[] } => {
    const before = all.get(name);
    if (before?.owner !== undefined) throw keptError(service, name, before.service);
    // The journal may have read the row long ago, but the budgets of a closed source are up to date.
    const known = before?.snapshots();
    const openedMs = clock.monotonicMs();
    let untaken: readonly BudgetSnapshot[] = [];
    const snapshots = (ahead?: GrantsAhead) => [
      ...namedSnapshots(budgets, ahead),
      ...agedSnapshots(untaken, clock.monotonicMs() - openedMs),
    ];
    // A grant of a shared budget is in two rows, and other credentials use that budget, too.
    const least = shared.length > 0 ? 0 : Math.min(...budgets.map(({ budget }) => budget.limit));
    const entry = journal.open(name, snapshots, least);
    all.set(name, { service, snapshots, owner });
    const { restored = [] } = entry;
    const current = known === undefined ? restored : [...known, ...restored.filter((one) => one.elsewhere === true)];
    untaken = current.filter((one) => !restore(one) && one.elsewhere !== true);
    return { entry, restored: current };
  };
  const restoreIn = (budgets: readonly NamedBudget[], snapshot: BudgetSnapshot): boolean => {
    const found = budgets.find(({ name }) => name === snapshot.name);
    found?.budget.restore(snapshot);
    return found !== undefined;
  };
  try {
    // A source without shared budgets leaves their row to others.
    const ofAll = shared.length === 0 ? undefined : open(ALL_CREDENTIALS, shared, (snapshot) => restoreIn(shared, snapshot));
    const known = all.get(ALL_CREDENTIALS);
    const sharedBefore = ofAll?.restored ?? known?.snapshots() ?? journal.open(ALL_CREDENTIALS, () => []).restored ?? [];
    const entries = credentials.map(({ name, own }) => {
      let hasMoved = false;
      const { entry } = open(name, own, (snapshot) => {
        if (restoreIn(own, snapshot)) return true;
        const moves = restoreIn(shared, snapshot);
        hasMoved ||= moves;
        return moves;
      });
      for (const snapshot of sharedBefore) restoreIn(own, { ...snapshot, elsewhere: true });
      // The journal writes both rows at once.
      if (hasMoved) for (const one of [entry, ofAll?.entry]) one?.settled();
      return [name, ofAll === undefined ? entry : written(entry, ofAll.entry)] as const;
    });
    return { entries: new Map(entries), release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Returns an entry whose writes include another row. */
function written(entry: JournalEntry, other: JournalEntry): JournalEntry {
  const after = <Result>(write: () => Result): Result => {
    other.settled();
    return write();
  };
  return {
    restored: entry.restored,
    granted: () => after(() => entry.granted()),
    settled: (weight) => after(() => entry.settled(weight)),
    flush: () => after(() => entry.flush()),
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
