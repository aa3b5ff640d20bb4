import type { BudgetEvidence, RateBudget } from '@headgate/throttle';
import type { LimitMismatch } from './source-options.ts';

/** A budget of the credential that got a response, and what the response says about it. */
interface Stated {
  readonly name: string;
  readonly budget: RateBudget;
  readonly evidence: BudgetEvidence | undefined;
}

/** Compares the number of requests that a service's responses state with the configured one. Reports each budget once. */
export class LimitCheck {
  readonly #reported = new Set<string>();
  #found: LimitMismatch | undefined;

  /** `isNamed`: the source's definition says which budget each piece of evidence is about. Otherwise it can be about any of them. */
  check(all: readonly Stated[], isNamed: boolean): void {
    for (const { name, budget, evidence } of all) {
      const { limit, windowMs } = budget;
      const requests = evidence?.limit ?? limit;
      const fits = isNamed ? requests === limit : all.some((one) => one.budget.limit === requests);
      if (fits || this.#reported.has(name) || requests < 1 || !Number.isSafeInteger(requests)) continue;
      this.#reported.add(name);
      this.#found = { budget: name, configured: { requests: limit, windowMs }, stated: { requests } };
    }
  }

  /** Returns the difference that was found last, and forgets it. */
  take(): LimitMismatch | undefined {
    const found = this.#found;
    this.#found = undefined;
    return found;
  }
}
