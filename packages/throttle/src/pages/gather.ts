import { type Clock, systemClock } from '../clock.ts';
import type { Credit } from '../admission/credit-pool.ts';
import { latestSignal } from '../abort.ts';
import type { Delivery, PageReader, ReadOptions } from './page-reader.ts';
import type { PageStage } from './through.ts';

/** Options of {@link gather}. */
export interface GatherOptions {
  /** Values of a full batch. */
  readonly size: number;
  /** Longest a batch waits from its first value until it is full, in ms, 0 to 2^31 - 1. */
  readonly maxWaitMs: number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

/** Maximum delay of a timer. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/**
 * A stage that gathers values into batches, across pages and walks, under credit: `mergePages(walks).through(gather({ size, maxWaitMs }))`.
 * A gathered value holds its page's credit until its batch is acknowledged, so the credit must have capacity for a batch and two more
 * pages. With less, the pages that would fill a batch can't be requested, and each batch waits for its timeout.
 *
 * - *Emits when* a batch is full, `maxWaitMs` after its first value was read, and the rest when the walk ends. Never an empty batch.
 * - *Backpressures when* the drain does: values are read for a requested batch only.
 * - *Completes when* the walk has, after the last batch; an error of the walk comes after the values gathered before it.
 * - *Cancels when* unsubscribed: gathered values are dropped with their credit.
 *
 * Throws a `RangeError` for a size or time that can't be.
 */
export function gather<T>({ size, maxWaitMs, clock = systemClock() }: GatherOptions): PageStage<T, T[]> {
  if (!Number.isSafeInteger(size) || size < 1) throw new RangeError(`gather: size must be a whole number above 0, got ${size}`);
  if (!(maxWaitMs >= 0 && maxWaitMs <= LONGEST_WAIT_MS))
    throw new RangeError(`gather: maxWaitMs must be 0 to ${LONGEST_WAIT_MS} ms, got ${maxWaitMs}`);
  return { name: 'gather', read: (values) => gathered(values, { size, maxWaitMs, clock }) };
}

type Outcome<T> = { readonly delivery: Delivery<T> } | End;

interface End {
  readonly error?: unknown;
}

function gathered<T>(values: PageReader<T>, { size, maxWaitMs, clock }: Required<GatherOptions>): PageReader<T[]> {
  /** A read that took longer than a batch waited: its value is the first of the next. */
  let pending: Promise<Outcome<T>> | undefined;
  let end: End | undefined;
  const watch = latestSignal(() => {
    void pending?.then((late) => {
      if ('delivery' in late) late.delivery.credit.release();
    });
  });
  const readOne = (options: ReadOptions): Promise<Outcome<T>> =>
    values.read(options).then(
      (delivery): Outcome<T> => (delivery === undefined ? {} : { delivery }),
      (error: unknown): Outcome<T> => ({ error }),
    );

  return {
    async read(options) {
      watch(options.signal);
      const batch: Delivery<T>[] = [];
      let due: Promise<undefined> | undefined;
      let cancelTimer: (() => void) | undefined;
      const add = (delivery: Delivery<T>): void => {
        batch.push(delivery);
        due ??= new Promise((resolve) => {
          cancelTimer = clock.schedule(maxWaitMs, () => resolve(undefined));
        });
      };
      while (batch.length < size && end === undefined) {
        const ready = pending === undefined ? values.take?.() : undefined;
        if (ready !== undefined) {
          add(ready);
          continue;
        }
        pending ??= readOne(options);
        const outcome = await (due === undefined ? pending : Promise.race([pending, due]));
        // No value arrived in time.
        if (outcome === undefined) break;
        pending = undefined;
        if ('delivery' in outcome) add(outcome.delivery);
        else end = outcome;
      }
      cancelTimer?.();
      if (options.signal.aborted) {
        for (const { credit } of batch) credit.release();
        throw options.signal.reason;
      }
      if (batch.length > 0) return { value: batch.map(({ value }) => value), credit: jointCredit(batch.map(({ credit }) => credit)) };
      if (end !== undefined && 'error' in end) throw end.error;
      return undefined;
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
