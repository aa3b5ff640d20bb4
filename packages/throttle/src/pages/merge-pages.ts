import { type CreditPool, creditPool } from '../admission/credit-pool.ts';
import { onAbort } from '../abort.ts';
import { rangeChecks } from '../number-checks.ts';
import { type Delivery, type PageReader, releaseAll } from './page-reader.ts';
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
  return new PageStream((given) => {
    // A `for await` loop passes a pool without a limit, so the stream's own pool applies.
    const isOwn = maxOutstanding !== undefined || given.credits.max === Infinity;
    const pool = credits ?? (isOwn ? creditPool({ max }) : given.credits);
    const stop = new AbortController();
    onAbort(given.signal, (reason) => stop.abort(reason));
    const readers = walks.map((walk) => walk.reader({ credits: pool, signal: stop.signal }));
    return merged(readers, stop);
  });
}

type Arrival<T> = { readonly values: readonly Delivery<T>[]; readonly from: PageReader<T> } | { readonly error: unknown };

/** Reads all readers at once, and each of them again when its page was handed over. Ends all of them with the first error. */
function merged<T>(readers: readonly PageReader<T>[], stop: AbortController): PageReader<T> {
  const { signal } = stop;
  const idle = [...readers];
  const arrived: Arrival<T>[] = [];
  let reading = 0;
  let wake = (): void => undefined;
  const drop = (): void => {
    for (const arrival of arrived.splice(0)) if ('values' in arrival) releaseAll(arrival.values);
  };
  onAbort(signal, () => {
    drop();
    wake();
  });
  const begin = async (from: PageReader<T>): Promise<void> => {
    reading += 1;
    try {
      const values = await from.read();
      if (values !== undefined) arrived.push({ values, from });
    } catch (error) {
      arrived.push({ error });
    }
    reading -= 1;
    if (signal.aborted) drop();
    wake();
  };
  return {
    async read() {
      for (;;) {
        signal.throwIfAborted();
        for (const reader of idle.splice(0)) void begin(reader);
        const arrival = arrived.shift();
        if (arrival === undefined) {
          if (reading === 0) return undefined;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else if ('values' in arrival) {
          idle.push(arrival.from);
          return arrival.values;
        } else {
          stop.abort();
          throw arrival.error;
        }
      }
    },
  };
}
