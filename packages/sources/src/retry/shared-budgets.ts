import { agedSnapshots, type BudgetSnapshot, type Clock, type JournalEntry, type RateBudget } from '@headgate/throttle';
import { ALL_CREDENTIALS } from '@headgate/throttle/internal';
import { type NamedBudget, namedSnapshots } from '../budget-slots.ts';
import { budgetOf } from '../budgets.ts';
import type { Budgets } from '../source-options.ts';
import type { JournalEntries } from './journal-entries.ts';

/** The limits over all credentials of a source. The journal stores them in one entry. */
export interface SharedBudgets {
  readonly all: readonly NamedBudget[];
  readonly byName: ReadonlyMap<string, RateBudget>;
  /**
   * Returns the state of the shared budgets as an earlier process left it, aged. The entry keeps that of budgets that aren't shared any more,
   * because it is the use of all credentials, including any that were removed since.
   */
  restored(): readonly BudgetSnapshot[];
  /** Wraps a credential's journal entry, so that its writes include the state of the shared budgets. */
  covering(entry: JournalEntry): JournalEntry;
  /**
   * Reports that a credential was refused because of a rate limit, and sends nothing for `ms`. Holds `budgets` for the same time if the
   * credential refused before was another one and is still on hold, because a response doesn't say which limit was reached.
   */
  refused(credential: string, budgets: readonly RateBudget[], ms: number): void;
}

export interface SharedBudgetsOptions {
  /** The source's budgets. `sharedBudgets` creates the ones that are `shared`. */
  readonly budgets: Budgets;
  readonly maxDelayMs: number;
  readonly clock: Clock;
  readonly journal?: JournalEntries | undefined;
}

export function sharedBudgets({ budgets, maxDelayMs, clock, journal }: SharedBudgetsOptions): SharedBudgets {
  const options = { maxDelayMs, clock, ...(journal !== undefined && { leaseMs: () => journal.leaseMs }) };
  const all = Object.entries(budgets).flatMap(([name, of]) => (of.shared === true ? [{ name, of, budget: budgetOf(of, options) }] : []));
  const byName = new Map(all.map(({ name, budget }) => [name, budget]));
  const openedMs = clock.monotonicMs();
  let known: readonly BudgetSnapshot[] = [];
  const restored = (): readonly BudgetSnapshot[] => agedSnapshots(known, clock.monotonicMs() - openedMs);
  // A source without such limits reads the entry, which may contain one that it shared before, and leaves it to other sources.
  const shared =
    all.length === 0
      ? undefined
      : journal?.open(ALL_CREDENTIALS, () => [...namedSnapshots(all), ...restored().filter(({ name = '' }) => !byName.has(name))]);
  known = (shared === undefined ? journal?.read(ALL_CREDENTIALS) : shared.restored) ?? [];
  for (const snapshot of restored()) byName.get(snapshot.name ?? '')?.restore(snapshot);
  let last = { credential: ALL_CREDENTIALS, untilMs: -Infinity };

  return {
    all,
    byName,
    restored,
    covering(entry) {
      if (shared === undefined) return entry;
      return {
        restored: entry.restored,
        granted() {
          shared.settled();
          return entry.granted();
        },
        settled() {
          shared.settled();
          entry.settled();
        },
        flush() {
          shared.settled();
          entry.flush();
        },
      };
    },
    refused(credential, concerned, ms) {
      const now = clock.monotonicMs();
      if (last.credential !== credential && last.untilMs > now) for (const budget of concerned) budget.holdUntil(now + ms);
      last = { credential, untilMs: now + ms };
    },
  };
}
