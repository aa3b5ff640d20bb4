import type { Signer } from '@headgate/auth';
import { agedSnapshots, type BudgetSnapshot, type Clock, type Journal, type JournalEntry, type RateBudget } from '@headgate/throttle';
import { type NamedBudget, namedSnapshots } from '../budget-slots.ts';
import { budgetOf } from '../budgets.ts';
import type { SourceError } from '../source-error.ts';
import type { Budgets, Credential } from '../source-options.ts';
import type { CredentialState, Step } from './policy.ts';
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
  /** Number of corrections of the secret or the clock. */
  readonly corrections: number;
  /** Reports whether a request could be sent before its permit expired. An expired permit lengthens the time limit of later permits. */
  prepared(how: { readonly lapsedAfterMs: number } | 'in time'): void;
  /** Returns the facts that decide what follows a refusal of a request. */
  stateFor(request: RefusedRequest): CredentialState;
  /** Applies a step of the policy to the credential, except for `retire`, which the source does. */
  apply(effect: Step['credential'], request: RefusedRequest): void;
  /** The error that ended the source's use of this credential; undefined while the source uses it. */
  readonly retiredBy: SourceError | undefined;
  /** Marks the credential as no longer used. The error of the first call stays. */
  retired(error: SourceError): void;
  /** Returns the error of the last refusal if the service then refused this secret; undefined for any other secret. */
  refusalOf(secret: string): SourceError | undefined;
}

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
/** Maximum wait in ms that a run waits out, unless a window of the budgets is longer. An hour more than a day, for resets of the day. */
const LONGEST_HOLD_MS = 25 * 60 * 60_000;

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
  let corrections = 0;
  let secretRefusals = 0;
  let lastRefused: { readonly secret: string; readonly error: SourceError } | undefined;
  let clockRefusals = 0;
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
      hold: (ms: number): void => {
        const until = clock.monotonicMs() + ms;
        for (const budget of held) budget.holdUntil(until);
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
    get corrections() {
      return corrections;
    },
    prepared(how) {
      preparationMs = how === 'in time' ? preparationMs / 2 : 2 * how.lapsedAfterMs;
    },
    stateFor: ({ grantedAtMs, weights, corrections: before, secret }) => ({
      isCorrected: before < corrections,
      refusals: grantedAtMs >= refusedAtMs ? refusals + 1 : refusals,
      windowMs: used(weights).windowMs,
      longestHoldMs,
      canReadSecret: signer.refused !== undefined && secret !== undefined && secretRefusals === 0,
      hasClock: signer.adjustClock !== undefined,
      clockRefusals,
    }),
    apply(effect, { grantedAtMs, weights, secret }) {
      switch (effect.kind) {
        case 'unchanged':
          return;
        case 'accepted':
        case 'passed over':
          refusals = 0;
          clockRefusals = 0;
          secretRefusals = 0;
          return;
        case 'hold': {
          if (grantedAtMs >= refusedAtMs) refusals += 1;
          refusedAtMs = clock.monotonicMs();
          const { ofAll, hold } = used(weights);
          shared.refused(name, ofAll, effect.ms);
          hold(effect.ms);
          return;
        }
        case 'read secret':
          corrections += 1;
          secretRefusals += 1;
          if (secret !== undefined) lastRefused = { secret, error: effect.error };
          signer.refused?.();
          return;
        case 'set clock':
          corrections += 1;
          clockRefusals += 1;
          if (effect.offsetMs !== undefined) signer.adjustClock?.(effect.offsetMs);
          return;
        case 'retire':
          corrections += 1;
      }
    },
    get retiredBy() {
      return retiredBy;
    },
    retired(error) {
      retiredBy ??= error;
    },
    refusalOf: (secret) => (secret === lastRefused?.secret ? lastRefused.error : undefined),
  };
}
