import { type Clock, systemClock } from '../clock.ts';
import type { Credit } from '../admission/credit-pool.ts';
import { onAbort } from '../abort.ts';
import { rangeChecks } from '../number-checks.ts';
import { releaseAll } from './page-reader.ts';
import type { PageStage } from './through.ts';

/** Options of {@link gather}. */
export interface GatherOptions {
  /** Number of values in a full batch. */
  readonly size: number;
  /** Maximum time that a batch waits from its first value until it is full, in ms, 0 to 2^31 - 1. */
  readonly maxWaitMs: number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

/** Maximum delay of a timer, in ms. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/**
 * A stage that gathers values into batches, across pages and walks: `mergePages(walks).through(gather({ size, maxWaitMs }))`. A gathered
 * value holds its page's credit until its batch is acknowledged, so the credit should have capacity for a batch and two more pages. With
 * less, a batch may wait for `maxWaitMs` because the pages that would fill it can't be requested.
 *
 * - *Emits when* a batch is full, `maxWaitMs` after its first value was read, and the rest when the walk ends. Never an empty batch.
 * - *Backpressures when* the drain does: values are read only for a requested batch.
 * - *Completes when* the walk has, after the last batch. An error of the walk comes after the values gathered before it.
 * - *Cancels when* the consumer unsubscribes: gathered values are dropped with their credit.
 *
 * Throws a `RangeError` for an invalid size or time.
 */
export function gather<T>({ size, maxWaitMs, clock = systemClock() }: GatherOptions): PageStage<T, T[]> {
  const check = rangeChecks('gather');
  check.whole({ size }, 1);
  check.number({ maxWaitMs }, 0, LONGEST_WAIT_MS);
  return {
    read(values, signal) {
      const batches = new Batcher(
        () => values.read(),
        ({ length }) => length >= size,
        maxWaitMs,
        clock,
      );
      onAbort(signal, () => void batches.rest().then(releaseAll));
      return {
        async read() {
          const batch = await batches.next();
          return batch && [{ value: batch.map(({ value }) => value), credit: jointCredit(batch.map(({ credit }) => credit)) }];
        },
      };
    },
  };
}

/** Makes batches from values. Nothing is read before its first batch is requested. */
export class Batcher<T> {
  readonly #read: () => Promise<readonly T[] | undefined>;
  readonly #isFull: (batch: readonly T[]) => boolean;
  readonly #maxWaitMs: number;
  readonly #clock: Clock;
  /** Values that were read and belong to a later batch, the first of them last. */
  #ready: T[] = [];
  /** The current read. If it outlasts a batch's wait, its values begin the next batch. */
  #pending: Promise<undefined> | undefined;
  #end: { readonly error?: unknown } | undefined;

  /**
   * `read` reads the next values; undefined after the last. `isFull` returns true if a batch, with at least one value, is full. `maxWaitMs`:
   * maximum time that the first value of a batch waits for more.
   */
  constructor(read: () => Promise<readonly T[] | undefined>, isFull: (batch: readonly T[]) => boolean, maxWaitMs: number, clock: Clock) {
    this.#read = read;
    this.#isFull = isFull;
    this.#maxWaitMs = maxWaitMs;
    this.#clock = clock;
  }

  /**
   * Reads the next batch. A batch ends when it is full, `maxWaitMs` after its first value, or when the values have ended. A read that
   * outlasts the wait provides the first values of the next batch. Undefined after the last batch. If a read fails, the values before it
   * are returned first, and then `next` rejects. Wait for the result of a call before the next call.
   */
  async next(): Promise<readonly T[] | undefined> {
    const batch: T[] = [];
    let timeUp: Promise<'time up'> | undefined;
    let cancelTimer: (() => void) | undefined;
    while (batch.length === 0 || !this.#isFull(batch)) {
      const value = this.#ready.pop();
      if (value !== undefined) {
        batch.push(value);
        timeUp ??= new Promise((resolve) => {
          cancelTimer = this.#clock.schedule(this.#maxWaitMs, () => resolve('time up'));
        });
        continue;
      }
      if (this.#end !== undefined) break;
      this.#pending ??= this.#receive();
      const end = await (timeUp === undefined ? this.#pending : Promise.race([this.#pending, timeUp]));
      if (end === 'time up') break;
    }
    cancelTimer?.();
    if (batch.length > 0) return batch;
    if (this.#end !== undefined && 'error' in this.#end) throw this.#end.error;
    return undefined;
  }

  /** Takes the values that aren't in a batch, when the current read has ended. */
  async rest(): Promise<readonly T[]> {
    await this.#pending;
    return this.#ready.splice(0);
  }

  async #receive(): Promise<undefined> {
    try {
      const values = await this.#read();
      if (values === undefined) this.#end = {};
      else this.#ready = values.toReversed();
    } catch (error) {
      this.#end = { error };
    }
    this.#pending = undefined;
  }
}

function jointCredit(credits: readonly Credit[]): Credit {
  const total = (): number => credits.reduce((sum, { items }) => sum + items, 0);
  return {
    get items() {
      return total();
    },
    resize(to) {
      let excess = total() - to;
      for (const credit of credits.toReversed()) {
        const given = Math.min(excess, credit.items);
        credit.resize(credit.items - given);
        excess -= given;
      }
    },
    release() {
      for (const credit of credits) credit.release();
    },
  };
}
