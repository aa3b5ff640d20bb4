import type { Clock } from '../clock.ts';

type Outcome<T> = { readonly value: T } | { readonly error?: unknown };

/** Makes batches from values that are read one at a time. Nothing is read before its first batch is requested. */
export class Batcher<T> {
  readonly #read: () => Promise<T | undefined>;
  readonly #isFull: (batch: readonly T[]) => boolean;
  readonly #maxWaitMs: number;
  readonly #clock: Clock;
  readonly #take: () => T | undefined;
  /** The current read. If it outlasts a batch's wait, its value begins the next batch. */
  #pending: Promise<Outcome<T>> | undefined;
  #end: { readonly error?: unknown } | undefined;

  /**
   * `read` reads the next value; undefined after the last. `isFull` returns true if a batch, with at least one value, is full. `maxWaitMs`:
   * maximum time that the first value of a batch waits for more. `take` returns the next value if it has already arrived.
   */
  constructor(
    read: () => Promise<T | undefined>,
    isFull: (batch: readonly T[]) => boolean,
    maxWaitMs: number,
    clock: Clock,
    take: () => T | undefined = () => undefined,
  ) {
    this.#read = read;
    this.#isFull = isFull;
    this.#maxWaitMs = maxWaitMs;
    this.#clock = clock;
    this.#take = take;
  }

  /**
   * Reads the next batch. A batch ends when it is full, `maxWaitMs` after its first value, or when the values have ended. A read that
   * outlasts the wait provides the first value of the next batch. Undefined after the last batch. If a read fails, the values before it are
   * returned first, and then `next` rejects. Wait for the result of a call before the next call.
   */
  async next(): Promise<readonly T[] | undefined> {
    const batch: T[] = [];
    let timeUp: Promise<undefined> | undefined;
    let cancelTimer: (() => void) | undefined;
    const add = (value: T): void => {
      batch.push(value);
      timeUp ??= new Promise((resolve) => {
        cancelTimer = this.#clock.schedule(this.#maxWaitMs, () => resolve(undefined));
      });
    };
    while (this.#end === undefined && (batch.length === 0 || !this.#isFull(batch))) {
      const ready = this.#pending === undefined ? this.#take() : undefined;
      if (ready !== undefined) {
        add(ready);
        continue;
      }
      this.#pending ??= this.#read().then(
        (value): Outcome<T> => (value === undefined ? {} : { value }),
        (error: unknown): Outcome<T> => ({ error }),
      );
      const next = await (timeUp === undefined ? this.#pending : Promise.race([this.#pending, timeUp]));
      if (next === undefined) break;
      this.#pending = undefined;
      if ('value' in next) add(next.value);
      else this.#end = next;
    }
    cancelTimer?.();
    if (batch.length > 0) return batch;
    if (this.#end !== undefined && 'error' in this.#end) throw this.#end.error;
    return undefined;
  }

  /** Resolves to the value of a read that outlasted its batch; undefined if there is none. */
  async late(): Promise<T | undefined> {
    const late = await this.#pending;
    return late !== undefined && 'value' in late ? late.value : undefined;
  }
}
