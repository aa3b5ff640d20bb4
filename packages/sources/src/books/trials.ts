import { creditPool, type Delivery } from '@headgate/throttle';
import { abortable } from '@headgate/throttle/internal';
import { SourceError } from '../source-error.ts';
import type { AttemptEvent } from '../source-options.ts';
import type { QueryOptions } from '../source.ts';
import { AmbiguousError, nothingButNotFound, undecided } from './books-errors.ts';
import { type Doubt, Patience, type ValueOf } from './doubt.ts';
import type { AuthorQuery, BatchQuery } from './query.ts';
import { type BooksValue, itemsOf } from './results.ts';
import { waitForCredit } from './wait-for-credit.ts';

/** Makes a request with a credential that the service answers with 200 unless its limit is reached. */
export type AskControl = (credential: string, signal: AbortSignal) => Promise<void>;

/** A query whose 404 no single response can explain. */
type TriedQuery = AuthorQuery | BatchQuery;

/**
 * Settles queries whose 404 no single response can explain: those for authors. Such a suspect is tried again together with controls, which are
 * requests of the same credential that the service answers unless its limit is reached.
 */
export class Trials {
  readonly #doubt: Doubt;
  readonly #askControl: AskControl;
  readonly #ofCredential = new Map<string, CredentialTrials>();

  constructor(doubt: Doubt, askControl: AskControl) {
    this.#doubt = doubt;
    this.#askControl = askControl;
  }

  /** Sends a query. Resolves to its response, or to a 404 if the service doesn't know what was requested. */
  async ask<Query extends TriedQuery>(query: Query, options: QueryOptions): Promise<Delivery<ValueOf<Query>> | AmbiguousError> {
    for (;;) {
      try {
        return await this.#doubt.ask(query, options);
      } catch (error) {
        if (!(error instanceof AmbiguousError)) throw error;
        const verdict = await this.#of(error.credential ?? '').settle(query, options, error);
        if (verdict !== 'without credential') return verdict;
      }
    }
  }

  /** Records an attempt of any request. */
  saw(event: AttemptEvent): void {
    this.#ofCredential.get(event.credential)?.saw(event);
  }

  #of(credential: string): CredentialTrials {
    const trials = this.#ofCredential.get(credential) ?? new CredentialTrials(credential, this.#doubt, this.#askControl);
    this.#ofCredential.set(credential, trials);
    return trials;
  }
}

/** The response to a query, a 404 that means that the service doesn't know it, or the fact that its credential can't be used any more. */
type Settled<Query extends TriedQuery> = Delivery<ValueOf<Query>> | AmbiguousError | 'without credential';

/** A query under trial. */
interface Suspect {
  /** Tries the query again. Resolves to true if it was answered with 404 again. */
  readonly attempt: () => Promise<boolean>;
  /** Ends the trial: the query is unknown, undecided (a 404), or can't be sent (another error). */
  readonly end: (how: 'unknown' | 'undecided' | Error) => void;
  readonly patience: Patience;
  /** The probability that the limit would refuse each try of a query that isn't unknown. */
  chance: number;
  tries: number;
}

/** A suspect counts as unknown below this probability of an error. */
const DOUBT = 1e-6;
const FEWEST_CONTROLS = 3;
const MOST_CONTROLS = 15;

/**
 * The trials of one credential. In each round, every suspect is tried once, and so are some controls, all in a random order and one after
 * the other.
 *
 * If the service knew the suspect, its 404 would come from the limit, and the limit doesn't depend on the order. So if it refused `k` of a
 * suspect and `n` controls, it would have refused the suspect with the probability k / (n + 1). The product over all rounds is the
 * probability of an error. It is exact even if the limit refuses most requests, or those at certain times. Requests that the program sends
 * anyway serve as controls. They aren't compared over more than a round: they avoid times of refusals, because each refusal puts the
 * budget on hold, so over a longer time, they would be refused less often than the suspect.
 */
class CredentialTrials {
  readonly #credential: string;
  readonly #doubt: Doubt;
  readonly #askControl: AskControl;
  readonly #suspects = new Set<Suspect>();
  readonly #unlimited = creditPool({ max: Infinity });
  #rounds: AbortController | undefined;
  #controls = { answered: 0, refused: 0 };
  #refusals = 0;
  /** Called at the next response to another request that starts from now on, or at the next refusal. */
  #onResponse: ((startedMs: number) => void) | undefined;

  constructor(credential: string, doubt: Doubt, askControl: AskControl) {
    this.#credential = credential;
    this.#doubt = doubt;
    this.#askControl = askControl;
  }

  async settle<Query extends TriedQuery>(query: Query, options: QueryOptions, first: AmbiguousError): Promise<Settled<Query>> {
    const { held, windowMs } = this.#doubt.options;
    const again: Query = { ...query, only: this.#credential };
    const doubtful = [first];
    const mean = (meaning: 'limit' | 'not found'): void => {
      for (const error of doubtful) held.settle(error, meaning);
    };
    try {
      return await abortable<Settled<Query>>(options.signal, (resolve, reject) => {
        let hide = this.#doubt.show(query, options, windowMs);
        const attempt = async (): Promise<boolean> => {
          hide();
          try {
            const { value, credit } = await this.#doubt.ask(again, { ...options, credits: this.#unlimited });
            credit.release();
            mean('limit');
            this.#suspects.delete(suspect);
            delivered(value, options).then(resolve, reject);
          } catch (error) {
            if (error instanceof AmbiguousError) {
              doubtful.push(error);
              if (this.#suspects.has(suspect)) hide = this.#doubt.show(query, options, windowMs);
              return true;
            }
            suspect.end(error instanceof Error ? error : new Error('the request failed', { cause: error }));
          }
          return false;
        };
        const suspect: Suspect = {
          attempt,
          patience: new Patience(this.#doubt.options),
          chance: 1,
          tries: 0,
          end: (how) => {
            this.#suspects.delete(suspect);
            if (how === 'unknown') {
              mean('not found');
              resolve(first);
            } else if (how === 'undecided') reject(this.#undecided(first, suspect));
            else if (isWithoutCredential(how)) resolve('without credential');
            else reject(how instanceof AmbiguousError ? this.#undecided(first, suspect) : how);
          },
        };
        this.#suspects.add(suspect);
        void this.#run();
        return () => {
          hide();
          this.#suspects.delete(suspect);
          if (this.#suspects.size === 0) this.#rounds?.abort();
        };
      });
    } finally {
      for (const error of doubtful) held.settle(error, 'ambiguous');
    }
  }

  saw({ outcome, error, durationMs }: AttemptEvent): void {
    const isControl = error instanceof AmbiguousError && error.query.kind === 'batch' && error.query.control !== undefined;
    const isRefused = outcome === 'rate-limited' || isControl;
    if (isRefused) this.#refusals += 1;
    if (isRefused || outcome === 'ok') this.#onResponse?.(this.#doubt.options.clock.monotonicMs() - (isRefused ? 0 : durationMs));
  }

  /** Holds rounds, one after the other, while there are suspects. */
  async #run(): Promise<void> {
    if (this.#rounds !== undefined) return;
    this.#controls = { answered: 0, refused: 0 };
    while (this.#suspects.size > 0) {
      const rounds = new AbortController();
      this.#rounds = rounds;
      try {
        await this.#round(rounds.signal);
      } catch (error) {
        // The last suspect has left. Another may have come since then.
        if (rounds.signal.aborted) continue;
        for (const one of this.#suspects) one.end(error instanceof Error ? error : new Error('a control failed', { cause: error }));
      }
    }
    this.#rounds = undefined;
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { windowMs } = this.#doubt.options;
    for (const one of this.#suspects) if (one.patience.isOver) one.end('undecided');
    const waits = Array.from(this.#suspects, ({ patience, tries }) => patience.about((windowMs * (1 + tries / 4)) / 2));
    // A random time, so that another program that sends at regular times doesn't meet the same step of each round.
    await this.#doubt.wait(Math.min(...waits), signal);
    const suspects = [...this.#suspects];
    const controls = Math.min(MOST_CONTROLS, Math.max(FEWEST_CONTROLS, suspects.length));
    const failed = new Set<Suspect>();
    let refused = 0;
    for (const step of this.#shuffled([...suspects, ...Array.from({ length: controls }, () => 'control' as const)])) {
      const before = this.#refusals;
      if (step === 'control') {
        await this.#control(signal);
        if (this.#refusals > before) refused += 1;
      } else if (this.#suspects.has(step)) {
        step.tries += 1;
        // A try that was also refused in another form shows only that the limit was reached.
        if ((await step.attempt()) && this.#refusals === before) failed.add(step);
      }
    }
    this.#controls.answered += controls - refused;
    this.#controls.refused += refused;
    for (const one of failed) {
      one.chance *= (refused + 1) / (controls + 1);
      if (one.chance < DOUBT && this.#suspects.has(one)) one.end('unknown');
    }
  }

  /** Waits for the next response to a request of the program if there may be one soon. Otherwise asks a control. */
  async #control(signal: AbortSignal): Promise<void> {
    if (this.#doubt.underWay === 0 || !(await this.#otherResponse(signal))) await this.#askControl(this.#credential, signal);
  }

  /** Resolves to true at the next response to a request that starts from now on, or to false if there is none for two windows. */
  async #otherResponse(signal: AbortSignal): Promise<boolean> {
    const { clock, windowMs } = this.#doubt.options;
    const fromMs = clock.monotonicMs();
    try {
      return await abortable<boolean>(signal, (resolve) => {
        this.#onResponse = (startedMs) => {
          if (startedMs >= fromMs) resolve(true);
        };
        return clock.schedule(2 * windowMs, () => resolve(false));
      });
    } finally {
      this.#onResponse = undefined;
    }
  }

  #shuffled<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i -= 1) {
      const j = Math.floor(this.#doubt.options.random() * (i + 1));
      const [one, other] = [items[i], items[j]];
      if (one !== undefined && other !== undefined) [items[i], items[j]] = [other, one];
    }
    return items;
  }

  #undecided({ query, credential = '', status = 404 }: AmbiguousError, { tries }: Suspect): AmbiguousError {
    const { answered: others, refused } = this.#controls;
    const answered = { query, credential, status };
    return others === 0 && !this.#doubt.knowsAny
      ? nothingButNotFound(answered)
      : undecided(answered, { tries: tries + 1, answered: others, refused });
  }
}

/** Delivers a value that was requested without a reservation, when downstream has capacity. */
async function delivered<Value extends BooksValue>(value: Value, options: QueryOptions): Promise<Delivery<Value>> {
  return { value, credit: await waitForCredit(itemsOf(value), options) };
}

function isWithoutCredential(error: Error): boolean {
  return error instanceof SourceError && error.code === 'HEADGATE_NO_CREDENTIAL';
}
