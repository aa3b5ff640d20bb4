import { type CreditPool, creditPool } from '../admission/credit-pool.ts';
import { latestSignal } from '../abort.ts';
import { rangeChecks } from '../number-checks.ts';
import type { Delivery, PageReader } from './page-reader.ts';
import { PageStream } from './page-stream.ts';

/** Options of {@link mergePages}. */
export interface MergePagesOptions {
  /**
   * Maximum items of all walks that are requested or delivered and not yet acknowledged. Default: the drain's; 20,000 without a drain.
   */
  readonly maxOutstanding?: number | undefined;
  /** A pool shared with others. Default: its own pool. */
  readonly credits?: CreditPool | undefined;
}

const MAX_OUTSTANDING = 20_000;

/**
 * Merges several walks into one stream with one limit of outstanding items. Each walk keeps the order of its pages, and the values of a
 * page stay together. `maxOutstanding` and `credits` replace those of the drain; without them, those of the drain apply.
 *
 * - *Emits when* a page of any walk has arrived.
 * - *Backpressures when* credit has no capacity for a page, or the latest page of each walk waits for the consumer.
 * - *Completes when* all walks have. The first error ends the stream, after the pages that arrived before.
 * - *Cancels when* the consumer unsubscribes: the requests of all walks are aborted, and waiting pages are dropped with their credit.
 */
export function mergePages<T>(streams: Iterable<PageStream<T>>, { maxOutstanding, credits }: MergePagesOptions = {}): PageStream<T> {
  const max = maxOutstanding === undefined ? MAX_OUTSTANDING : maxOutstanding;
  rangeChecks('mergePages').whole({ maxOutstanding: max }, 1, Infinity);
  const walks = [...streams];
  return new PageStream(() => {
    const own = credits ?? creditPool({ max });
    const isOwn = credits !== undefined || maxOutstanding !== undefined;
    // A `for await` loop passes a pool without a limit, so the stream's own pool applies.
    const creditsFor = (given: CreditPool): CreditPool => (isOwn || given.max === Infinity ? own : given);
    return mergedReader(
      walks.map((walk) => walk.reader()),
      creditsFor,
    );
  });
}

type Arrival<T> = { readonly delivery: Delivery<T>; readonly from: PageReader<T> } | { readonly error: unknown };

function mergedReader<T>(readers: readonly PageReader<T>[], creditsFor: (given: CreditPool) => CreditPool): PageReader<T> {
  const stopped = new AbortController();
  const idle = [...readers];
  const arrived: Arrival<T>[] = [];
  let reading = 0;
  /** The walk of the latest value: more values of the same page may be ready. */
  let latest: PageReader<T> | undefined;
  let wake: (() => void) | undefined;
  const stop = (): void => {
    stopped.abort();
    for (const arrival of arrived.splice(0)) if ('delivery' in arrival) arrival.delivery.credit.release();
    wake?.();
  };
  const watch = latestSignal(stop);

  const begin = (from: PageReader<T>, credits: CreditPool): void => {
    reading += 1;
    from.read({ credits, signal: stopped.signal }).then(
      (delivery) => {
        reading -= 1;
        if (stopped.signal.aborted) delivery?.credit.release();
        else if (delivery !== undefined) arrived.push({ delivery, from });
        wake?.();
      },
      (error: unknown) => {
        reading -= 1;
        arrived.push({ error });
        wake?.();
      },
    );
  };
  const take = (): Delivery<T> | undefined => {
    const more = latest?.take?.();
    if (more !== undefined || latest === undefined) return more;
    idle.push(latest);
    latest = undefined;
    return undefined;
  };

  return {
    take,
    async read({ credits: given, signal }) {
      watch(signal);
      const credits = creditsFor(given);
      for (;;) {
        signal.throwIfAborted();
        const more = take();
        if (more !== undefined) return more;
        for (const reader of idle.splice(0)) begin(reader, credits);
        const arrival = arrived.shift();
        if (arrival === undefined) {
          if (reading === 0) return undefined;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        if ('error' in arrival) {
          stop();
          throw arrival.error;
        }
        latest = arrival.from;
        return arrival.delivery;
      }
    },
  };
}
