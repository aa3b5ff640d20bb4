import type { Clock } from '../clock.ts';

/** Options of {@link batcher}. */
export interface BatcherOptions<T> {
  /** Reads the next value; undefined after the last. */
  readonly read: () => Promise<T | undefined>;
  /** Returns the next value if it has already arrived. Default: values come only from `read`. */
  readonly take?: (() => T | undefined) | undefined;
  /** Returns true if a batch is full. Called with at least one value. */
  readonly isFull: (batch: readonly T[]) => boolean;
  /** Maximum time that the first value of a batch waits for more, in ms. */
  readonly maxWaitMs: number;
  /** Measures `maxWaitMs`. */
  readonly clock: Clock;
}

/** Makes batches from values that are read one at a time. */
export interface Batcher<T> {
  /**
   * Reads the next batch. A batch ends when it is full, `maxWaitMs` after its first value, or when the values have ended. A read that
   * outlasts the wait provides the first value of the next batch. Undefined after the last batch. If a read fails, the values before it are
   * returned first, and then `next` rejects. Wait for the result of a call before the next call.
   */
  next(): Promise<readonly T[] | undefined>;
  /** Resolves to the value of a read that outlasted its batch; undefined if there is none. */
  late(): Promise<T | undefined>;
}

type Outcome<T> = { readonly value: T } | { readonly error?: unknown };

/** Creates a batcher. Nothing is read before its first batch is requested. */
export function batcher<T>({ read, take, isFull, maxWaitMs, clock }: BatcherOptions<T>): Batcher<T> {
  /** The current read. If it outlasts a batch's wait, its value begins the next batch. */
  let pending: Promise<Outcome<T>> | undefined;
  let end: { readonly error?: unknown } | undefined;
  const outcome = (): Promise<Outcome<T>> =>
    read().then(
      (value): Outcome<T> => (value === undefined ? {} : { value }),
      (error: unknown): Outcome<T> => ({ error }),
    );

  return {
    async next() {
      const batch: T[] = [];
      let timeUp: Promise<undefined> | undefined;
      let cancelTimer: (() => void) | undefined;
      const add = (value: T): void => {
        batch.push(value);
        timeUp ??= new Promise((resolve) => {
          cancelTimer = clock.schedule(maxWaitMs, () => resolve(undefined));
        });
      };
      while (end === undefined && (batch.length === 0 || !isFull(batch))) {
        const ready = pending === undefined ? take?.() : undefined;
        if (ready !== undefined) {
          add(ready);
          continue;
        }
        pending ??= outcome();
        const next = await (timeUp === undefined ? pending : Promise.race([pending, timeUp]));
        if (next === undefined) break;
        pending = undefined;
        if ('value' in next) add(next.value);
        else end = next;
      }
      cancelTimer?.();
      if (batch.length > 0) return batch;
      if (end !== undefined && 'error' in end) throw end.error;
      return undefined;
    },
    async late() {
      const late = await pending;
      return late !== undefined && 'value' in late ? late.value : undefined;
    },
  };
}
