import type { Clock } from '@headgate/throttle';
import type { IsbnReader } from './isbn-input.ts';
import { type BatchEntry, batchEntry } from './query.ts';

export interface BatcherOptions {
  readonly input: IsbnReader;
  /** Maximum different ISBNs in a batch. */
  readonly maxBatch: number;
  /** Longest the first entry of a batch waits for more, in ms. */
  readonly waitMs: number;
  readonly clock: Clock;
}

export interface Batcher {
  /**
   * Reads the next batch: it goes when it is full, when the input has ended, or after `waitMs`. Undefined after the last.
   * Reads no further than the batch. Rejects when the input has failed, after what came before was gathered. One call at a time.
   */
  gather(): Promise<readonly BatchEntry[] | undefined>;
}

/** Makes batches of an input. Entries that need no request (malformed or repeated) join a batch in addition, up to `maxBatch` of them. */
export function batcher({ input, maxBatch, waitMs, clock }: BatcherOptions): Batcher {
  // A read that a batch didn't wait for belongs to the next one.
  let reading: Promise<IteratorResult<string, unknown>> | undefined;

  return {
    async gather() {
      const entries: BatchEntry[] = [];
      const isbns = new Set<string>();
      let cancel: (() => void) | undefined;
      let timeUp: Promise<'time up'> | undefined;
      try {
        while (isbns.size < maxBatch && entries.length < 2 * maxBatch) {
          reading ??= input.next();
          const result = await (timeUp === undefined ? reading : Promise.race([reading, timeUp]));
          if (result === 'time up') break;
          if (result.done === true) return entries.length === 0 ? undefined : entries;
          reading = undefined;
          const entry = batchEntry(result.value);
          entries.push(entry);
          if (entry.isbn !== undefined) isbns.add(entry.isbn);
          timeUp ??= new Promise((resolve) => {
            cancel = clock.schedule(waitMs, () => resolve('time up'));
          });
        }
      } catch (error) {
        // The failed read stays: the next call meets it again.
        if (entries.length === 0) throw error;
      } finally {
        cancel?.();
      }
      return entries;
    },
  };
}
