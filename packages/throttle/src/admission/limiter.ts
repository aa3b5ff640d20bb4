import { admission, type Admission } from './admission.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type CredentialPool, credentialPool, type PoolMember } from './credential-pool.ts';
import { type CreditPool, creditPool } from './credit-pool.ts';
import type { RateBudget } from '../budget/rate-budget.ts';
import { rangeChecks } from '../number-checks.ts';
import { retryAfterMs } from '../retry-after.ts';

/** A credential: its name, or an object with a name. */
export type LimiterCredential = string | { readonly name: string };

/** Options of {@link limiter}. */
export interface LimiterOptions<C extends LimiterCredential = string> {
  /** The budgets that work is charged to. With several credentials, a function that returns the budgets of each. */
  readonly budgets: readonly RateBudget[] | ((credential: C) => readonly RateBudget[]);
  /** Credentials, any of which may carry the next work. Default: one, named `default`. */
  readonly credentials?: readonly C[];
  /** Maximum number of calls of work that run at once. Default: as many as the budgets permit. */
  readonly concurrency?: number;
  /** Maximum number of calls that wait for their turn. `run` rejects further ones. Default 10,000. */
  readonly maxQueue?: number;
  /** The clock of the budgets. Default: the machine's. */
  readonly clock?: Clock;
}

/** Options of `Limiter.run`. */
export interface RunOptions {
  /** An abort removes the work from the queue. Work that has started continues. */
  readonly signal?: AbortSignal | undefined;
  /** The work's cost in every budget, or a list with the cost in each budget. Default 1. */
  readonly weight?: number | readonly number[] | undefined;
  /** Names of the credentials that may carry the work. Default: any. */
  readonly among?: readonly string[] | undefined;
}

/** Work for a {@link Limiter}. It is called with the credential that carries it, and again if it returns {@link refused}. */
export type Work<C, R> = (credential: C) => R | Refused | Failed | PromiseLike<R | Refused | Failed>;

/** The response of a service that refused the request for now; created by {@link refused}. */
export class Refused {
  /** Returns the wait that the response asks for, in ms. `epochMs`: when the response arrived. */
  readonly retryInMs: (epochMs: number) => number;

  constructor(retryInMs: (epochMs: number) => number) {
    this.retryInMs = retryInMs;
  }
}

/** An error response; created by {@link failed}. */
export class Failed {
  /** The error with which `run` rejects. */
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** Options of {@link refused}: a time, or an object with the response's headers, such as a `Response`. */
export type RefusedOptions =
  | {
      /** Time for which the credential starts nothing that uses the same budgets, in ms. */
      readonly retryInMs: number;
    }
  | {
      /** The response's headers. `Retry-After` (seconds, or a date relative to `Date`) sets the time. Default: 1,000 ms. */
      readonly headers: { get(name: string): string | null };
    };

/**
 * Return `refused(response)` from work for a response with status 429. Its credential starts nothing that uses the same budgets for the
 * time in the response, and the work runs again. Throws a `RangeError` for an invalid time.
 */
export function refused(from: RefusedOptions): Refused {
  if ('headers' in from) {
    const headers = Object.fromEntries(
      ['retry-after', 'retry-after-ms', 'x-ms-retry-after-ms', 'date'].map((name) => [name, from.headers.get(name) ?? undefined]),
    );
    return new Refused((epochMs) => retryAfterMs({ headers, epochMs }) ?? UNSAID_WAIT_MS);
  }
  const { retryInMs } = from;
  rangeChecks('refused').number({ retryInMs }, 0);
  return new Refused(() => retryInMs);
}

/**
 * Return `failed(error)` from work for an error response: `run` rejects with `error`, and the work costs as much as any response. A thrown
 * error can cost more.
 */
export function failed(error: unknown): Failed {
  return new Failed(error);
}

/** The error of `run` if `maxQueue` calls are already waiting. */
export class QueueFullError extends Error {
  /** A constant, because a bundler can rename the class. */
  override readonly name = 'QueueFullError';
  /** Identifies the error where `instanceof` can't, such as in a program with two copies of this package. */
  readonly code = 'HEADGATE_QUEUE_FULL';
  /** True, because the queue has room again when waiting work starts. */
  readonly retryable = true;
}

/** The error of `run` after the service has refused the same work ten times. */
export class RefusedError extends Error {
  /** A constant, because a bundler can rename the class. */
  override readonly name = 'RefusedError';
  /** Identifies the error where `instanceof` can't, such as in a program with two copies of this package. */
  readonly code = 'HEADGATE_REFUSED';
  /** True, because the service may take the work later. */
  readonly retryable = true;
}

const UNSAID_WAIT_MS = 1_000;
const MAX_QUEUE = 10_000;
const MAX_REFUSALS = 10;

/**
 * Creates a limiter: `limiter({ budgets: [rateBudget({ limit: 5, windowMs: 1_000 })] }).run(() => fetch(url))`. An idle limiter holds no
 * timer. Throws a `RangeError` for invalid options.
 */
export function limiter<C extends LimiterCredential = string>(options: LimiterOptions<C>): Limiter<C> {
  return new Limiter(options);
}

/** A credential of a limiter. */
class Carrier<C extends LimiterCredential> implements PoolMember {
  readonly name: string;
  readonly credential: C;
  readonly budgets: readonly RateBudget[];
  running = 0;
  /** True from a refusal until the next response that isn't one. */
  isRefused = false;

  constructor(credential: C, budgets: readonly RateBudget[]) {
    this.name = typeof credential === 'string' ? credential : credential.name;
    this.credential = credential;
    this.budgets = budgets;
  }

  /** After a refusal, one call at a time finds out whether the service takes calls again. */
  readonly heldUntilMs = (): number => (this.isRefused && this.running > 0 ? Infinity : -Infinity);
}

/** Runs work as its budgets permit; created by {@link limiter}. */
export class Limiter<C extends LimiterCredential = string> {
  readonly #clock: Clock;
  readonly #maxQueue: number;
  readonly #carriers: ReadonlyMap<string, Carrier<C>>;
  readonly #pool: CredentialPool;
  readonly #credits: CreditPool;
  readonly #queue: Admission;
  /** Number of calls that wait or run. */
  #begun = 0;

  constructor(options: LimiterOptions<C>) {
    const { budgets, concurrency = Infinity, maxQueue = MAX_QUEUE, clock = systemClock() } = options;
    const check = rangeChecks('limiter');
    check.whole({ concurrency }, 1, Infinity);
    check.whole({ maxQueue }, 0, Infinity);
    // The cast assumes that `C` is `string` if there is no option `credentials`.
    const credentials = options.credentials ?? (['default'] as unknown as readonly C[]);
    if (typeof budgets !== 'function' && credentials.length > 1)
      throw new RangeError(`limiter: each of ${credentials.length} credentials needs its own budgets: pass a function that creates them`);
    const members = credentials.map((one) => new Carrier(one, typeof budgets === 'function' ? budgets(one) : budgets));
    this.#clock = clock;
    this.#maxQueue = maxQueue;
    this.#carriers = new Map(members.map((member) => [member.name, member]));
    this.#pool = credentialPool({ members, clock });
    this.#credits = creditPool({ max: concurrency });
    this.#queue = admission({ pool: this.#pool, clock });
  }

  /** Number of calls that wait for their turn. */
  get waiting(): number {
    return this.#begun - this.#credits.outstanding;
  }

  /** Number of calls whose work has started and not ended. */
  get running(): number {
    return this.#credits.outstanding;
  }

  /**
   * Runs `work` when its budgets permit, and resolves with its result. Work that returns `refused` runs again.
   *
   * Rejects with the error of `work`, with `signal.reason` when aborted before its turn, with a `QueueFullError` if the queue is full, with
   * a `RangeError` for a weight above the limits of all credentials or if the limiter has no credential of `among`, and with a
   * `RefusedError` when the service has refused the work ten times.
   *
   * Work that throws is charged as if the service had counted it as late as `maxDelayMs` of its budgets allows (default 5 s), because the
   * limiter can't know whether the service counted it, or when. Return {@link failed} for a response that is an error: it costs as much as
   * any response.
   */
  readonly run = async <R>(work: Work<C, R>, options: RunOptions = {}): Promise<R> => {
    const weights = this.#weightsOf(options.weight);
    if (this.waiting >= this.#maxQueue && (this.waiting > 0 || !this.#isFree(weights, options.among))) throw queueFull(this.#maxQueue);
    this.#begun += 1;
    try {
      for (let refusals = 0; refusals < MAX_REFUSALS; refusals += 1) {
        const result = await this.#attempt(work, weights, options);
        if (result instanceof Failed) throw result.error;
        if (!(result instanceof Refused)) return result;
      }
    } finally {
      this.#begun -= 1;
    }
    throw new RefusedError(
      `limiter: the service has refused the same work ${MAX_REFUSALS} times, so its limits are lower than the budgets. Lower the budgets.`,
    );
  };

  /**
   * Returns a function that calls `call` in the same way as `run` calls its work, with the arguments that it is given:
   * `const lookUp = wrap((isbn: string) => client.book(isbn))`.
   */
  readonly wrap =
    <Arguments extends readonly unknown[], R>(
      call: (...given: Arguments) => R | Refused | Failed | PromiseLike<R | Refused | Failed>,
      options?: RunOptions,
    ) =>
    (...given: Arguments): Promise<R> =>
      this.run(() => call(...given), options);

  #weightsOf(weight: RunOptions['weight']): readonly number[] {
    if (weight === undefined || Array.isArray(weight)) return weight ?? [];
    return Array.from({ length: Math.max(...this.#pool.members.map(({ budgets }) => budgets.length)) }, () => weight as number);
  }

  #isFree(weights: readonly number[], among: RunOptions['among']): boolean {
    // The queue refuses work that no credential can carry.
    if (!this.#pool.bears(weights, among)) return true;
    return this.#pool.freeAt(weights, among) <= this.#clock.monotonicMs() && this.#credits.hasRoom(1);
  }

  /** Waits for a permit and runs the work with it, again if the permit has expired. */
  async #attempt<R>(work: Work<C, R>, weights: readonly number[], { signal, among }: RunOptions): Promise<R | Refused | Failed> {
    for (;;) {
      let carrier: Carrier<C> | undefined;
      const onGranted = (name: string): void => {
        carrier = this.#carriers.get(name);
        if (carrier !== undefined) carrier.running += 1;
      };
      const permit = await this.#queue.acquire({ credits: this.#credits, items: 1, weights, among, signal, onGranted });
      try {
        // `sent` returns false if the permit has expired.
        if (carrier === undefined || !permit.sent()) continue;
        const result = await work(carrier.credential);
        carrier.isRefused = result instanceof Refused;
        if (result instanceof Refused) {
          const until = this.#clock.monotonicMs() + result.retryInMs(this.#clock.epochMs());
          for (const [i, budget] of carrier.budgets.entries()) if (weights[i] !== 0) budget.holdUntil(until);
        }
        permit.answered();
        return result;
      } finally {
        if (carrier !== undefined) carrier.running -= 1;
        permit[Symbol.dispose]();
      }
    }
  }
}

function queueFull(maxQueue: number): QueueFullError {
  return new QueueFullError(
    `limiter: ${maxQueue} calls are already waiting, the maximum (maxQueue). Start fewer at once, or raise maxQueue.`,
  );
}
