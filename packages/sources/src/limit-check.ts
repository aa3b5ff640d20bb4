import type { BudgetEvidence, RateBudget } from '@headgate/throttle';
import type { Budgets, LimitMismatch } from './source-options.ts';

export interface LimitEvidence {
  readonly evidence: readonly (BudgetEvidence | undefined)[];
  /** Names of the budgets. `evidence`, `names` and `budgets` have the same order. */
  readonly names: readonly string[];
  readonly budgets: readonly RateBudget[];
  /** Definitions of the budgets, by name. */
  readonly named: Budgets;
  /** Monotonic ms when the response arrived. */
  readonly now: number;
  /** True if the source's definition says which budget each piece of evidence is about. Otherwise it can be about any of them. */
  readonly isNamed: boolean;
}

/** Tolerance in ms: resets and dates are whole seconds, and a response takes a while to arrive. */
const GRAIN_MS = 5_000;
/** A reset that is further away than this, in ms, is ignored. */
const LONGEST_MS = 32 * 86_400_000;

/**
 * Compares the limits in a service's responses with the configured ones, and reports each kind of difference once per budget.
 *
 * - A number of requests is compared as stated.
 * - A window is certainly longer than configured if its reset is further away than the configured length.
 * - A window is certainly shorter if two responses, each to the first request of a window, have resets that are closer together than the
 *   configured length.
 */
export class LimitCheck {
  readonly #reported = new Set<string>();
  /** By budget, the monotonic ms of the last reset of a window that began with our own request. */
  readonly #lastReset = new WeakMap<RateBudget, number>();
  #found: LimitMismatch | undefined;

  check({ evidence, names, budgets, named, now, isNamed }: LimitEvidence): void {
    for (const [i, said] of evidence.entries()) {
      const [name, budget] = [names[i], budgets[i]];
      if (said === undefined || name === undefined || budget === undefined) continue;
      const { limit, windowMs } = budget;
      const others = isNamed ? [] : budgets.filter((one) => one !== budget);
      // Days and months vary in length, so the windows of a quota can't be compared.
      const isQuota = 'per' in (named[name] ?? {});
      const requests = said.limit ?? limit;
      const stated = {
        ...(requests !== limit &&
          requests > 0 &&
          Number.isSafeInteger(requests) &&
          !others.some((one) => one.limit === requests) && { requests }),
        ...(!isQuota && this.#span(said, requests, budget, others, now)),
      };
      const isNew = Object.keys(stated).some((kind) => !this.#reported.has(`${name} ${kind}`));
      if (!isNew) continue;
      for (const kind of Object.keys(stated)) this.#reported.add(`${name} ${kind}`);
      this.#found = { budget: name, configured: { requests: limit, windowMs }, stated };
    }
  }

  /** Returns the difference that was found last, and forgets it. */
  take(): LimitMismatch | undefined {
    const found = this.#found;
    this.#found = undefined;
    return found;
  }

  #span(
    { remaining, resetInMs }: BudgetEvidence,
    limit: number,
    budget: RateBudget,
    others: readonly RateBudget[],
    now: number,
  ): LimitMismatch['stated'] {
    const { windowMs } = budget;
    if (!(resetInMs >= 0 && resetInMs <= LONGEST_MS)) return {};
    if (resetInMs > windowMs + GRAIN_MS) return others.some((one) => resetInMs <= one.windowMs + GRAIN_MS) ? {} : { atLeastMs: resetInMs };
    if (remaining !== limit - 1 || others.some((one) => one.windowMs < windowMs)) return {};
    const resetAt = now + resetInMs;
    const betweenMs = resetAt - (this.#lastReset.get(budget) ?? -Infinity);
    this.#lastReset.set(budget, resetAt);
    return betweenMs > GRAIN_MS && betweenMs < windowMs - GRAIN_MS ? { atMostMs: betweenMs } : {};
  }
}
