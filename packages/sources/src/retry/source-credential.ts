import type { Signer } from '@headgate/auth';
import type { Clock, JournalEntry, RateBudget } from '@headgate/throttle';
import type { NamedBudget } from '../budget-slots.ts';
import { budgetOf, type BudgetOptions } from '../budgets.ts';
import type { SourceError } from '../source-error.ts';
import type { Budgets, Credential } from '../source-options.ts';
import type { CredentialState, Step } from './policy.ts';
import type { SharedLimits } from './shared-limits.ts';

/** A request that the service has refused. */
export interface RefusedRequest {
  /** Monotonic ms when its permit was granted. */
  readonly grantedAtMs: number;
  /** Its cost in each budget, in their order. */
  readonly weights: readonly number[];
  /** The credential's `corrections` before the request was signed. */
  readonly corrections: number;
  /** The lasting part of the secret with which it was signed, if that is known. */
  readonly secret: string | undefined;
}

const RECENT_MS = 60_000;
/** Maximum wait in ms that a run waits out, unless a window of the budgets is longer. An hour more than a day, for resets of the day. */
const LONGEST_HOLD_MS = 25 * 60 * 60_000;

/** A credential of a source, with its budgets and the service's refusals of it. */
export class SourceCredential {
  readonly name: string;
  readonly signer: Signer;
  /** All budgets of the credential, in the source's order. */
  readonly budgets: readonly RateBudget[];
  /** The budgets that only this credential uses. */
  readonly own: readonly NamedBudget[];
  /** The entry of its row in the journal. */
  journal: JournalEntry | undefined;
  readonly #shared: SharedLimits;
  readonly #clock: Clock;
  readonly #concurrency: number;
  #inFlight = 0;
  /** True if a request has asked for this credential while it was at its maximum of requests in flight. */
  #isAwaited = false;
  /** Ms added to the time limit of permits, so that a slow proxy or signer doesn't let each of them expire. */
  #preparationMs = 0;
  #refusedAtMs = -Infinity;
  #refusals = 0;
  #corrections = 0;
  #secretRefusals = 0;
  #lastRefused: { readonly secret: string; readonly error: SourceError } | undefined;
  #clockRefusals = 0;
  #retiredBy: SourceError | undefined;

  /**
   * `budgets`: those of the source. The credential may have others with the same names instead. `concurrency`: its maximum of requests in
   * flight.
   */
  constructor(
    { name, signer, budgets: replaced }: Credential,
    budgets: Budgets,
    shared: SharedLimits,
    options: BudgetOptions,
    concurrency: number = Infinity,
  ) {
    this.name = name;
    this.signer = signer;
    this.#shared = shared;
    this.#clock = options.clock;
    this.#concurrency = concurrency;
    const { leaseMs } = options;
    const lease = leaseMs && { leaseMs: () => leaseMs() + Math.round(this.#preparationMs) };
    const named = Object.entries({ ...budgets, ...replaced }).map(
      ([budget, of]) =>
        (of.shared === true ? shared.named(budget) : undefined) ?? {
          credential: name,
          name: budget,
          of,
          budget: budgetOf(of, { ...options, ...lease }),
        },
    );
    this.own = named.filter((one) => 'credential' in one);
    this.budgets = named.map(({ budget }) => budget);
  }

  /** True if the service refused this credential because of a rate limit during the last minute. */
  get recentlyRefused(): boolean {
    return this.#clock.monotonicMs() - this.#refusedAtMs <= RECENT_MS;
  }

  /** True from a refusal because of a rate limit until the next request that the service accepts. */
  get isRefused(): boolean {
    return this.#refusals > 0;
  }

  /** True if no further request may start. After a refusal, one at a time finds out whether the service takes requests again. */
  get isFull(): boolean {
    const isFull = this.#inFlight >= (this.isRefused ? 1 : this.#concurrency);
    this.#isAwaited ||= isFull;
    return isFull;
  }

  /** Records that a request has a permit. */
  begin(): void {
    this.#inFlight += 1;
  }

  /** Records the end of a request that had a permit. Returns true if others may have waited for that. */
  end(): boolean {
    this.#inFlight -= 1;
    const isAwaited = this.#isAwaited;
    this.#isAwaited = false;
    return isAwaited;
  }

  /** Number of corrections of the secret or the clock. */
  get corrections(): number {
    return this.#corrections;
  }

  /** The error that ended the source's use of this credential; undefined while the source uses it. */
  get retiredBy(): SourceError | undefined {
    return this.#retiredBy;
  }

  /** Marks the credential as no longer used. The error of the first call stays. */
  retired(error: SourceError): void {
    this.#retiredBy ??= error;
  }

  /**
   * Reports whether a request could be sent before its permit expired. An expired permit lengthens the time limit of later permits, and each
   * request in time halves that addition.
   */
  prepared(how: { readonly lapsedAfterMs: number } | 'in time'): void {
    this.#preparationMs = how === 'in time' ? this.#preparationMs / 2 : 2 * how.lapsedAfterMs;
  }

  /** Returns the error of the last refusal if the service then refused this secret; undefined for any other secret. */
  refusalOf(secret: string): SourceError | undefined {
    return secret === this.#lastRefused?.secret ? this.#lastRefused.error : undefined;
  }

  /** Returns the facts that decide what follows a refusal of a request. */
  stateFor({ grantedAtMs, weights, corrections, secret }: RefusedRequest): CredentialState {
    const { signer } = this;
    return {
      isCorrected: corrections < this.#corrections,
      refusals: this.#refusals + (grantedAtMs >= this.#refusedAtMs ? 1 : 0),
      // The refusal is assumed to concern the shortest window.
      windowMs: Math.min(...this.#concerned(weights).map((budget) => budget.windowMs)),
      longestHoldMs: Math.max(LONGEST_HOLD_MS, ...this.budgets.map((budget) => budget.windowMs)),
      canReadSecret: signer.refused !== undefined && secret !== undefined && this.#secretRefusals === 0,
      hasClock: signer.adjustClock !== undefined,
      clockRefusals: this.#clockRefusals,
    };
  }

  /** Applies a step of the policy to the credential, except for `retire`, which the source does. */
  apply(effect: Step['credential'], { grantedAtMs, weights, secret }: RefusedRequest): void {
    switch (effect.kind) {
      case 'unchanged':
        return;
      case 'accepted':
      case 'passed over':
        this.#refusals = 0;
        this.#clockRefusals = 0;
        this.#secretRefusals = 0;
        return;
      case 'hold': {
        const now = this.#clock.monotonicMs();
        if (grantedAtMs >= this.#refusedAtMs) this.#refusals += 1;
        this.#refusedAtMs = now;
        this.#shared.refused(this.name, this.#used(weights), now + effect.ms);
        for (const budget of this.#concerned(weights)) budget.holdUntil(now + effect.ms);
        return;
      }
      case 'read secret':
        this.#corrections += 1;
        this.#secretRefusals += 1;
        if (secret !== undefined) this.#lastRefused = { secret, error: effect.error };
        this.signer.refused?.();
        return;
      case 'set clock':
        this.#corrections += 1;
        this.#clockRefusals += 1;
        if (effect.offsetMs !== undefined) this.signer.adjustClock?.(effect.offsetMs);
        return;
      case 'retire':
        this.#corrections += 1;
    }
  }

  #used(weights: readonly number[]): readonly RateBudget[] {
    return this.budgets.filter((_, i) => weights[i] !== 0);
  }

  /**
   * Returns the budgets that a refusal concerns: those that the request uses, or all if it uses none. If some of them belong to the
   * credential alone, only these, because they are the likelier cause.
   */
  #concerned(weights: readonly number[]): readonly RateBudget[] {
    const used = this.#used(weights);
    const own = used.filter((budget) => this.own.some((one) => one.budget === budget));
    return [own, used, this.budgets].find(({ length }) => length > 0) ?? [];
  }
}
