import { admission } from './admission.ts';
import { type Clock, systemClock } from '../clock.ts';
import { credentialPool } from './credential-pool.ts';
import { creditPool } from './credit-pool.ts';
import type { RateBudget } from '../budget/rate-budget.ts';

/** A credential: its name, or anything that has one. */
export type LimiterCredential = string | { readonly name: string };

/** Options of {@link limiter}. */
export interface LimiterOptions<C extends LimiterCredential = string> {
  /** The budgets that work is charged to; with several credentials a function that makes those of each. */
  readonly budgets: readonly RateBudget[] | ((credential: C) => readonly RateBudget[]);
  /** Any of which may carry the next work. Default: one, named `default`. */
  readonly credentials?: readonly C[];
  /** Most work at a time. Default: as much as the budgets permit. */
  readonly concurrency?: number;
  /** Most work that waits for its turn; more is refused. Default 10,000. */
  readonly maxQueue?: number;
  /** The clock of the budgets. Default: the machine's. */
  readonly clock?: Clock;
}

/** Options of `Limiter.run`. */
export interface RunOptions {
  /** Leaves the queue. Work that has started runs on. */
  readonly signal?: AbortSignal | undefined;
  /** Costs so much in each budget, or in each of them in their order. Default 1. */
  readonly weight?: number | readonly number[] | undefined;
}

/** Work for a {@link Limiter}: called with the credential that carries it, and again each time it returns {@link refused}. */
export type Work<C, R> = (credential: C) => R | Refused | PromiseLike<R | Refused>;

/** Runs work as its budgets permit. */
export interface Limiter<C extends LimiterCredential = string> {
  /**
   * Runs `work` once its budgets permit, first come first served, and resolves with its result. Work that returns `refused` runs again.
   *
   * Rejects with the error of `work`, with `signal.reason` when aborted before its turn, with a `QueueFullError` where `maxQueue` others wait,
   * with a `RangeError` for a weight above a limit, and with a `RefusedError` when the service has refused it ten times.
   * Work that throws is charged as if the service had counted it as late as `maxDelayMs` of its budgets allows, since the true moment is
   * unknown.
   */
  readonly run: <R>(work: Work<C, R>, options?: RunOptions) => Promise<R>;
  /** Work that waits for its turn. */
  readonly waiting: number;
  /** Work that has started and not ended. */
  readonly running: number;
}

/** The answer of a service that would not take the request now. */
export class Refused {
  /** How long the credential starts nothing, in ms. */
  readonly retryInMs: number;

  constructor(retryInMs: number) {
    this.retryInMs = retryInMs;
  }
}

/** Options of {@link refused}. */
export interface RefusedOptions {
  /** How long the credential starts nothing, in ms, as the answer's Retry-After says. */
  readonly retryInMs: number;
}

/** Returned by work for an answer 429: its credential starts nothing for so long, and the work runs again. Throws a `RangeError` for a time that can't be. */
export function refused({ retryInMs }: RefusedOptions): Refused {
  if (!(retryInMs >= 0 && retryInMs < Infinity))
    throw new RangeError(`refused: retryInMs must be a number of ms from 0 on, got ${retryInMs}`);
  return new Refused(retryInMs);
}

/** More work waits than `maxQueue` allows. */
export class QueueFullError extends Error {
  /** Stays the same where a bundler renames classes. */
  override readonly name = 'QueueFullError';
  /** Identifies the error where `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_QUEUE_FULL';
  /** True: there is room again when work has started. */
  readonly retryable = true;
}

/** The service has refused the same work again and again. */
export class RefusedError extends Error {
  /** Stays the same where a bundler renames classes. */
  override readonly name = 'RefusedError';
  /** Identifies the error where `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_REFUSED';
  /** True: the service may take the work later. */
  readonly retryable = true;
}

interface Attempt {
  readonly signal: AbortSignal | undefined;
  readonly weights: readonly number[];
}

const MAX_QUEUE = 10_000;
const MAX_REFUSALS = 10;

/**
 * Makes a limiter: `limiter({ budgets: [rateBudget({ limit: 5, windowMs: 1_000 })] }).run(() => fetch(url))`. It holds no timer while
 * nothing waits. Throws a `RangeError` for options that can't be.
 */
export function limiter<C extends LimiterCredential = string>(options: LimiterOptions<C>): Limiter<C> {
  const { budgets, concurrency = Infinity, maxQueue = MAX_QUEUE, clock = systemClock() } = options;
  checkCount('concurrency', concurrency, 1);
  checkCount('maxQueue', maxQueue, 0);
  // Without credentials there is one, and its type is a string's.
  const credentials = options.credentials ?? (['default'] as unknown as readonly C[]);
  if (typeof budgets !== 'function' && credentials.length > 1)
    throw new RangeError(`limiter: each of ${credentials.length} credentials needs budgets of its own: give a function that makes them`);
  const members = credentials.map((credential) => ({
    name: nameOf(credential),
    credential,
    budgets: typeof budgets === 'function' ? budgets(credential) : budgets,
  }));
  const pool = credentialPool({ members, clock });
  const byName = new Map(members.map((member) => [member.name, member]));
  const credits = creditPool({ max: concurrency });
  const door = admission({ clock });
  const weightsOf = (weight: RunOptions['weight']): readonly number[] =>
    typeof weight === 'number'
      ? Array.from({ length: Math.max(...members.map((one) => one.budgets.length)) }, () => weight)
      : (weight ?? []);
  let begun = 0;
  const waiting = (): number => begun - credits.outstanding;
  const isFree = (weights: readonly number[]): boolean => pool.freeAt(weights) <= clock.monotonicMs() && credits.hasRoom(1);

  /** Runs it once; undefined where it has to wait again. */
  const attempt = async <R>(work: Work<C, R>, { signal, weights }: Attempt): Promise<{ readonly result: R | Refused } | undefined> => {
    const permit = await door.acquire({ pool, credits, items: 1, weights, ...(signal !== undefined && { signal }) });
    try {
      const member = byName.get(permit.credential);
      // The lease of a grant may have run out.
      if (member === undefined || !permit.sent()) return undefined;
      const result = await work(member.credential);
      if (result instanceof Refused) {
        const until = clock.monotonicMs() + result.retryInMs;
        for (const budget of member.budgets) budget.holdUntil(until);
      }
      permit.answered();
      return { result };
    } finally {
      permit[Symbol.dispose]();
    }
  };

  return {
    async run(work, { signal, weight } = {}) {
      const weights = weightsOf(weight);
      if (waiting() >= maxQueue && (waiting() > 0 || !isFree(weights))) throw queueFull(maxQueue);
      begun += 1;
      try {
        for (let refusals = 0; refusals < MAX_REFUSALS;) {
          const outcome = await attempt(work, { signal, weights });
          if (outcome === undefined) continue;
          if (!(outcome.result instanceof Refused)) return outcome.result;
          refusals += 1;
        }
      } finally {
        begun -= 1;
      }
      throw new RefusedError(
        `limiter: the service has refused the same work ${MAX_REFUSALS} times. Its limits are lower than the budgets.`,
      );
    },
    get waiting() {
      return waiting();
    },
    get running() {
      return credits.outstanding;
    },
  };
}

function nameOf(credential: LimiterCredential): string {
  return typeof credential === 'string' ? credential : credential.name;
}

function queueFull(maxQueue: number): QueueFullError {
  return new QueueFullError(
    `limiter: ${maxQueue} already wait for their turn, and more than that (maxQueue) are refused. Start less at once, or raise maxQueue.`,
  );
}

function checkCount(what: string, count: number, least: number): void {
  if (!(count >= least && (Number.isSafeInteger(count) || count === Infinity)))
    throw new RangeError(`limiter: ${what} must be a whole number from ${least} on, got ${count}`);
}
