import type { Signer } from '@headgate/auth';
import type { BudgetSnapshot, Clock, Journal, JournalEntry, RateBudget } from '@headgate/throttle';
import type { NamedBudget } from '../budget-slots.ts';
import { budgetOf } from '../budgets.ts';
import type { SourceError } from '../source-error.ts';
import type { Budgets, Credential } from '../source-options.ts';
import type { SharedBudgets } from './shared-budgets.ts';

/** A credential in use: its budgets, and what the service has said about it. */
export interface SourceCredential {
  readonly name: string;
  readonly signer: Signer;
  /** In the source's order. */
  readonly budgets: readonly RateBudget[];
  /** The budgets' definitions by name, in the same order. */
  readonly named: Budgets;
  /** The budgets that it doesn't share. */
  readonly own: readonly NamedBudget[];
  readonly journal?: JournalEntry | undefined;
  /** True if it was refused for its rate during the last minute. */
  readonly recentlyRefused: boolean;
  /** Number of refusals because of the clock: a refusal of a request signed before the last one says nothing new. */
  readonly clockRefusals: number;
  /** A granted request could be sent, or its permit expired after `ms`. This sets the time for connecting and signing from now on. */
  prepared(how: { readonly lapsedAfterMs: number } | 'in time'): void;
  /** Refused for its rate: for a while, nothing starts that uses the same budgets. Returns how long, ms. */
  refused(refusal: Refusal): number;
  /** A response other than a refusal has arrived. */
  accepted(): void;
  /** Starts nothing for a whole window of the budgets that a request with these weights uses. Returns its length in ms. */
  backOffOneWindow(weights: readonly number[]): number;
  /** Number of refusals of its secret: a refusal of a request signed before the last one says nothing new. */
  readonly secretRefusals: number;
  /** The state of its budgets, except shared ones. */
  snapshots(): readonly BudgetSnapshot[];
  /** Why it is no longer used; undefined while it is. */
  readonly retiredBy: SourceError | undefined;
  /** It leaves its source for good; the first reason stays. */
  retired(error: SourceError): void;
  /** The service refused its secret. Returns false if its signer can't provide another, or has had its chance since the last response. */
  secretRefused(secret: string | undefined, error: SourceError): boolean;
  /** Why a secret must not be sent again: it is the one that was last refused. */
  refusalOf(secret: string): SourceError | undefined;
  /** Its timestamp was refused by a service whose clock is `offsetMs` ahead of ours. Corrects the clock that stamps its requests. */
  clockRefused(offsetMs: number): ClockCorrection;
}

/** `fatal`: nothing can be corrected, or corrections in a row did not help. */
export type ClockCorrection = 'corrected' | 'too far off' | 'fatal';

export interface Refusal {
  /** Monotonic ms when the permit of the refused request was granted. */
  readonly grantedAtMs: number;
  /** The refused request's cost in each budget, in their order. */
  readonly weights: readonly number[];
  /** Ms from now, if the response says so. */
  readonly retryInMs?: number | undefined;
}

export interface SourceCredentialOptions {
  readonly credential: Credential;
  /** The source's budgets. The credential may have others with the same names instead. */
  readonly budgets: Budgets;
  /** The source's limits over all credentials. */
  readonly shared: SharedBudgets;
  readonly maxDelayMs: number;
  readonly clock: Clock;
  readonly journal?: Journal | undefined;
  /** The credential that had its name before, whose budgets it continues. Default: continues with what the journal knows. */
  readonly before?: SourceCredential | undefined;
}

const RECENT_MS = 60_000;
/** If refusals name no wait, waits double up to this. */
const LONGEST_STEP_MS = 15 * 60_000;
/** Maximum believable wait: a response that requests more than this, and more than the longest window of its budgets, is ignored. */
const LONGEST_HOLD_MS = 24 * 60 * 60_000;
/** If a response says `now`, wait this long, or one window if that is shorter. */
const SHORTEST_HOLD_MS = 1_000;

/** Maximum correction. If the offset is larger, the service's clock or this machine's is wrong, and a person must check. */
const LARGEST_CLOCK_OFFSET_MS = 24 * 60 * 60_000;
/** Clocks get corrected, so each refusal may have another offset. This many in a row are not due to that. */
export const MOST_CLOCK_REFUSALS = 3;

export function sourceCredential(given: SourceCredentialOptions): SourceCredential {
  const { credential, shared, maxDelayMs, clock, journal } = given;
  const { name, signer } = credential;
  /** Added to a permit's time, so that a slow proxy or signer doesn't let each of them expire; halved by each request that is in time. */
  let preparationMs = 0;
  const options = { maxDelayMs, clock, ...(journal !== undefined && { leaseMs: () => journal.leaseMs + Math.round(preparationMs) }) };
  const named = { ...given.budgets, ...credential.budgets };
  const own = Object.entries(named).flatMap(([budget, of]) =>
    of.shared === true ? [] : [{ name: budget, of, budget: budgetOf(of, options) }],
  );
  const ownByName = new Map(own.map((one) => [one.name, one.budget]));
  const budgets = Object.keys(named).flatMap((budget) => ownByName.get(budget) ?? shared.byName.get(budget) ?? []);
  const snapshots = (): readonly BudgetSnapshot[] => own.map((one) => ({ name: one.name, ...one.budget.snapshot() }));
  const opened = journal?.open(name, snapshots);
  // A limit that was shared counts for each credential once it isn't, and the other way around.
  for (const snapshot of given.before?.snapshots() ?? opened?.restored ?? [])
    (ownByName.get(snapshot.name ?? '') ?? shared.byName.get(snapshot.name ?? ''))?.restore(snapshot);
  for (const snapshot of shared.restored) ownByName.get(snapshot.name ?? '')?.restore(snapshot);
  const entry = opened && shared.covering(opened);
  const longestHoldMs = Math.max(LONGEST_HOLD_MS, ...budgets.map((budget) => budget.windowMs));
  let refusedAtMs = -Infinity;
  let refusals = 0;
  let secretRefusals = 0;
  let secretRefusalsInARow = 0;
  let lastRefused: { readonly secret: string; readonly error: SourceError } | undefined;
  let clockRefusals = 0;
  let clockRefusalsInARow = 0;
  let retiredBy: SourceError | undefined;

  /** The budgets that a request uses: its refusal says nothing about the others, and is more likely about the credential's own. */
  const used = (weights: readonly number[]) => {
    const concerned = budgets.filter((_, i) => weights[i] !== 0);
    const ofAll = [...shared.byName.values()].filter((budget) => concerned.includes(budget));
    const held = [concerned.filter((budget) => !ofAll.includes(budget)), ofAll, budgets].find(({ length }) => length > 0) ?? [];
    return {
      ofAll,
      // A refusal concerns the shortest window, unless the response names another, such as a daily quota.
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
    named,
    own,
    journal: entry,
    get recentlyRefused() {
      return clock.monotonicMs() - refusedAtMs <= RECENT_MS;
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
    backOffOneWindow(weights) {
      const { windowMs, hold } = used(weights);
      return hold(windowMs * 1.0005 + 5);
    },
    snapshots,
    get retiredBy() {
      return retiredBy;
    },
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
