import type { RateBudget } from '@headgate/throttle';
import type { NamedBudget } from '../budget-slots.ts';
import { budgetOf, type BudgetOptions } from '../budgets.ts';
import type { Budgets } from '../source-options.ts';

/** The limits over all credentials of a source. */
export class SharedLimits {
  readonly all: readonly NamedBudget[];
  readonly #options: BudgetOptions;
  #last = { credential: '', untilMs: -Infinity };

  /** `budgets`: those of the source, of which the `shared` ones count. */
  constructor(budgets: Budgets, options: BudgetOptions) {
    this.#options = options;
    this.all = Object.entries(budgets).flatMap(([name, of]) => (of.shared === true ? { name, of, budget: budgetOf(of, options) } : []));
  }

  named(name: string): NamedBudget | undefined {
    return this.all.find((one) => one.name === name);
  }

  /**
   * Reports that a credential was refused because of a rate limit, and sends nothing before `untilMs`. Holds the shared ones of `used`, the
   * budgets of its request, for the same time if the credential refused before was another one and is still on hold, because a response
   * doesn't say which limit was reached.
   */
  refused(credential: string, used: readonly RateBudget[], untilMs: number): void {
    const isAnother = this.#last.credential !== credential && this.#last.untilMs > this.#options.clock.monotonicMs();
    if (isAnother) for (const { budget } of this.all) if (used.includes(budget)) budget.holdUntil(untilMs);
    this.#last = { credential, untilMs };
  }
}
