import { type Clock, systemClock } from '../clock.ts';
import type { Credit } from '../admission/credit-pool.ts';
import { latestSignal } from '../abort.ts';
import { rangeChecks } from '../number-checks.ts';
import { Batcher } from './batcher.ts';
import type { Delivery, PageReader, PageReadOptions } from './page-reader.ts';
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
  return { read: (values) => gathered(values, size, maxWaitMs, clock) };
}

function gathered<T>(values: PageReader<T>, size: number, maxWaitMs: number, clock: Clock): PageReader<T[]> {
  let latest: PageReadOptions | undefined;
  const read = async (): Promise<Delivery<T> | undefined> => latest && (await values.read(latest));
  const batches = new Batcher(
    read,
    ({ length }) => length >= size,
    maxWaitMs,
    clock,
    () => values.take?.(),
  );
  const watch = latestSignal(() => void batches.late().then((late) => late?.credit.release()));
  return {
    async read(options) {
      latest = options;
      watch(options.signal);
      const batch = await batches.next().catch((error: unknown) => {
        options.signal.throwIfAborted();
        throw error;
      });
      if (options.signal.aborted) {
        for (const { credit } of batch ?? []) credit.release();
        throw options.signal.reason;
      }
      return batch && { value: batch.map(({ value }) => value), credit: jointCredit(batch.map(({ credit }) => credit)) };
    },
  };
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
