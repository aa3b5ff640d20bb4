import type { Signer } from '@headgate/auth';
import { agedSnapshots, type BudgetSnapshot, type Clock, type Journal, type JournalEntry, type RateBudget } from '@headgate/throttle';
import { type NamedBudget, namedSnapshots } from '../budget-slots.ts';
import { budgetOf } from '../budgets.ts';
import type { SourceError } from '../source-error.ts';
import type { Budgets, Credential } from '../source-options.ts';
import type { SharedBudgets } from './shared-budgets.ts';

/** A credential of a source, with its budgets and the service's refusals of it. */
export interface SourceCredential {
  readonly name: string;
  readonly signer: Signer;
  /** All budgets of the credential, in the source's order. */
  readonly budgets: readonly RateBudget[];
  /** The budgets that only this credential uses. */
  readonly own: readonly NamedBudget[];
  readonly journal?: JournalEntry | undefined;
  /** True if the service refused this credential because of a rate limit during the last minute. */
  readonly recentlyRefused: boolean;
  /** True from a refusal because of a rate limit until the next request that the service accepts. */
  readonly isRefused: boolean;
  /** Number of refusals because of the clock. A refusal of a request that was signed before the last refusal says nothing new. */
  readonly clockRefusals: number;
  /** Reports whether a request could be sent before its permit expired. An expired permit lengthens the time limit of later permits. */
  prepared(how: { readonly lapsedAfterMs: number } | 'in time'): void;
  /** Reports a refusal because of a rate limit. Holds budgets that the request uses. Returns the length of the hold in ms. */
  refused(refusal: Refusal): number;
  /** Reports a response that isn't a refusal. */
  accepted(): void;
  /** Number of refusals of the secret. A refusal of a request that was signed before the last refusal says nothing new. */
  readonly secretRefusals: number;
  /** The error that ended the source's use of this credential; undefined while the source uses it. */
  readonly retiredBy: SourceError | undefined;
  /** Marks the credential as no longer used. The error of the first call stays. */
  retired(error: SourceError): void;
  /** Returns true for a plausible wait, in ms, that is too long to wait for. */
  isTooLong(retryInMs: number): boolean;
  /**
   * Reports that the service refused the secret. Returns true if the signer reads its secret again, and false if the signer can't, or has
   * already done so since the last accepted request.
   */
  secretRefused(secret: string | undefined, error: SourceError): boolean;
  /** Returns the error of the last refusal if the service then refused this secret; undefined for any other secret. */
  refusalOf(secret: string): SourceError | undefined;
  /**
   * Reports that a service whose clock is `offsetMs` ahead of ours refused the timestamp. Corrects the signer's clock, if the signer allows
   * it.
   */
  clockRefused(offsetMs: number): ClockCorrection;
}

/** `fatal`: a correction isn't possible, or several in a row didn't help. */
export type ClockCorrection = 'corrected' | 'too far off' | 'fatal';

export interface Refusal {
  /** Monotonic ms when the permit of the refused request was granted. */
  readonly grantedAtMs: number;
  /** The refused request's cost in each budget, in their order. */
  readonly weights: readonly number[];
  /** Wait that the response requests, in ms from now. */
  readonly retryInMs?: number | undefined;
}

export interface SourceCredentialOptions {
  readonly credential: Credential;
  /** The source's budgets. The credential may have others with the same names instead. */
  readonly budgets: Budgets;
  readonly shared: SharedBudgets;
  readonly maxDelayMs: number;
  readonly clock: Clock;
  readonly journal?: Journal | undefined;
}

const RECENT_MS = 60_000;
/** Maximum wait in ms after a refusal that doesn't request one. Such waits start with one window and double with each refusal in a row. */
const LONGEST_STEP_MS = 15 * 60_000;
/** Maximum wait in ms that a run waits out, unless a window of the budgets is longer. An hour more than a day, for resets of the day. */
const LONGEST_HOLD_MS = 25 * 60 * 60_000;
/** Maximum plausible wait in ms, about a year. A longer one is ignored. */
const LONGEST_WAIT_MS = 400 * 24 * 60 * 60_000;
/** Minimum wait after a refusal, in ms, even if the service requests less. If the window is shorter, one window is enough. */
const SHORTEST_HOLD_MS = 1_000;

/** Maximum clock offset that is corrected, in ms. */
export const LARGEST_CLOCK_OFFSET_MS: number = 24 * 60 * 60_000;
/** Maximum number of clock corrections in a row. After that, the clock is probably not the cause of the refusals. */
export const MOST_CLOCK_REFUSALS = 3;

export function sourceCredential(given: SourceCredentialOptions): SourceCredential {
  const { credential, shared, maxDelayMs, clock, journal } = given;
  const { name, signer } = credential;
  /**
   * Ms added to the time limit of permits, so that a slow proxy or signer doesn't let each of them expire. Each request in time halves it.
   */
  let preparationMs = 0;
  const options = { maxDelayMs, clock, ...(journal !== undefined && { leaseMs: () => journal.leaseMs + Math.round(preparationMs) }) };
  const named = { ...given.budgets, ...credential.budgets };
  const own = Object.entries(named).flatMap(([budget, of]) =>
    of.shared === true ? [] : [{ name: budget, of, budget: budgetOf(of, options) }],
  );
  const ownByName = new Map(own.map((one) => [one.name, one.budget]));
  const budgets = Object.keys(named).flatMap((budget) => ownByName.get(budget) ?? shared.byName.get(budget) ?? []);
  const openedMs = clock.monotonicMs();
  /**
   * Copies of the state of budgets that the credential no longer shares, as of the opening of its entry. `counting` is like the credential's
   * own budget, but counts only the copy.
   */
  let copies: readonly { readonly copy: BudgetSnapshot; readonly counting: RateBudget }[] = [];
  const snapshots = (): readonly BudgetSnapshot[] => [
    ...namedSnapshots(own),
    ...agedSnapshots(
      copies.filter(({ counting }) => counting.used > 0).map(({ copy }) => copy),
      clock.monotonicMs() - openedMs,
    ),
  ];
  const opened = journal?.open(name, snapshots);
  // Returns the shared budget to which a snapshot moves. A copy doesn't, because the entry of the shared budgets has the original.
  const moved = (one: BudgetSnapshot): RateBudget | undefined =>
    ownByName.has(one.name ?? '') || one.fromShared === true ? undefined : shared.byName.get(one.name ?? '');
  const known = opened?.restored ?? [];
  // Each request is in one entry: that of the shared budgets if its budget was shared or became shared later, and otherwise the credential's
  // own. A credential that stops sharing a budget adds a copy of its state, which can contain requests of the credential.
  const isNew = ({ name: budget = '' }: BudgetSnapshot): boolean => ownByName.has(budget) && !known.some((one) => one.name === budget);
  const newCopies = shared.restored().filter(isNew);
  const all = [...known, ...newCopies.map((one) => ({ ...one, fromShared: true }))];
  for (const snapshot of all) (ownByName.get(snapshot.name ?? '') ?? moved(snapshot))?.restore(snapshot);
  copies = own.flatMap(({ name: budget, of }) =>
    all
      .filter((one) => one.name === budget && one.fromShared === true && one.elsewhere !== true)
      .map((copy) => {
        const counting = budgetOf(of, options);
        counting.restore(copy);
        return { copy, counting };
      }),
  );
  const entry = opened && shared.covering(opened);
  // The journal's next write has both entries.
  if (known.some(moved)) entry?.settled();
  const longestHoldMs = Math.max(LONGEST_HOLD_MS, ...budgets.map((budget) => budget.windowMs));
  let refusedAtMs = -Infinity;
  let refusals = 0;
  let secretRefusals = 0;
  let secretRefusalsInARow = 0;
  let lastRefused: { readonly secret: string; readonly error: SourceError } | undefined;
  let clockRefusals = 0;
  let clockRefusalsInARow = 0;
  let retiredBy: SourceError | undefined;

  /**
   * Finds the budgets that a refusal concerns: those that the request uses, or all if it uses none. If some of them belong to the
   * credential alone, only these, because they are the likelier cause.
   */
  const used = (weights: readonly number[]) => {
    const concerned = budgets.filter((_, i) => weights[i] !== 0);
    const ofAll = [...shared.byName.values()].filter((budget) => concerned.includes(budget));
    const held = [concerned.filter((budget) => !ofAll.includes(budget)), ofAll, budgets].find(({ length }) => length > 0) ?? [];
    return {
      ofAll,
      // The refusal is assumed to concern the shortest window.
      windowMs: Math.min(...held.map((budget) => budget.windowMs)),
      hold: (ms: number): number => {
        const until = clock.monotonicMs() + ms;
        for (const budget of held) budget.holdUntil(until);
        return ms;
      },
    };
  };

  return {
    name,
    signer,
    budgets,
    own,
    journal: entry,
    get recentlyRefused() {
      return clock.monotonicMs() - refusedAtMs <= RECENT_MS;
    },
    get isRefused() {
      return refusals > 0;
    },
    get clockRefusals() {
      return clockRefusals;
    },
    prepared(how) {
      preparationMs = how === 'in time' ? preparationMs / 2 : 2 * how.lapsedAfterMs;
    },
    refused({ grantedAtMs, weights, retryInMs }) {
      const { windowMs, hold, ofAll } = used(weights);
      const holdAll = (ms: number): number => {
        shared.refused(name, ofAll, ms);
        return hold(ms);
      };
      // Requests in flight at the same time are refused together: that counts as one refusal.
      if (grantedAtMs >= refusedAtMs) refusals += 1;
      refusedAtMs = clock.monotonicMs();
      const stepMs = Math.min(LONGEST_STEP_MS, windowMs * 2 ** (refusals - 1));
      if (retryInMs === undefined || !(retryInMs <= longestHoldMs)) return holdAll(stepMs);
      return holdAll(Math.max(retryInMs, Math.min(windowMs, SHORTEST_HOLD_MS)));
    },
    accepted() {
      refusals = 0;
      clockRefusalsInARow = 0;
      secretRefusalsInARow = 0;
    },
    get retiredBy() {
      return retiredBy;
    },
    isTooLong: (retryInMs) => retryInMs > longestHoldMs && retryInMs <= LONGEST_WAIT_MS,
    retired(error) {
      retiredBy ??= error;
    },
    get secretRefusals() {
      return secretRefusals;
    },
    secretRefused(secret, error) {
      secretRefusals += 1;
      secretRefusalsInARow += 1;
      if (signer.refused === undefined || secret === undefined || secretRefusalsInARow > 1) return false;
      lastRefused = { secret, error };
      signer.refused();
      return true;
    },
    refusalOf: (secret) => (secret === lastRefused?.secret ? lastRefused.error : undefined),
    clockRefused(offsetMs) {
      clockRefusals += 1;
      clockRefusalsInARow += 1;
      if (signer.adjustClock === undefined || !Number.isFinite(offsetMs)) return 'fatal';
      if (clockRefusalsInARow > MOST_CLOCK_REFUSALS) return 'fatal';
      if (Math.abs(offsetMs) > LARGEST_CLOCK_OFFSET_MS) return 'too far off';
      signer.adjustClock(offsetMs);
      return 'corrected';
    },
  };
}
