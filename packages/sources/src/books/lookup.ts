import { type Clock, type CreditPool, type Delivery, type PageReader, type PageReadOptions, PageStream } from '@headgate/throttle';
import { Batcher, onAbort, sharedCredit } from '@headgate/throttle/internal';
import { type IsbnInput, openIsbns } from './isbn-input.ts';
import type { Prefetch } from './prefetch.ts';
import { type BatchEntry, batchEntry, isbnsToSend } from './query.ts';
import type { BookAnswer } from './results.ts';

export interface LookupOptions {
  readonly isbns: IsbnInput;
  readonly signal?: AbortSignal | undefined;
  readonly maxBatch: number;
  /** Maximum time that an ISBN waits for its batch to fill, in ms. */
  readonly waitMs: number;
  /** Maximum batches in flight. */
  readonly parallel: number;
  /** The limit of early requests, shared by all lookups that may share a credit pool. */
  readonly ahead: Prefetch;
  readonly clock: Clock;
  readonly queryBatch: (
    entries: readonly BatchEntry[],
    options: { readonly credits: CreditPool; readonly signal: AbortSignal; readonly walk: object },
  ) => Promise<Delivery<readonly BookAnswer[]>>;
}

/** Walks a list of ISBNs in batches; each response is a separate item, in the order of the list. */
export function lookup(options: LookupOptions): PageStream<BookAnswer> {
  return new PageStream((reading) => lookupReader(options, reading), { signal: options.signal });
}

interface Batch {
  /** Items that the batch has reserved in `ahead`, until its turn comes. 0 from then on. */
  itemsAhead: number;
  outcome?: { readonly delivery: Delivery<readonly BookAnswer[]> } | { readonly error: unknown };
}

function lookupReader(
  { isbns, maxBatch, waitMs, parallel, ahead, clock, queryBatch }: LookupOptions,
  { credits, signal }: PageReadOptions,
): PageReader<BookAnswer> {
  const input = openIsbns(isbns);
  const read = async (): Promise<readonly BatchEntry[] | undefined> => {
    const { done, value } = await input.next();
    return done === true ? undefined : [batchEntry(value)];
  };
  // Malformed and repeated entries aren't sent, so they don't count against `maxBatch`. But a batch never has more than 2 × `maxBatch`
  // entries.
  const isFull = (entries: readonly BatchEntry[]): boolean =>
    entries.length >= 2 * maxBatch || (entries.length >= maxBatch && isbnsToSend({ kind: 'batch', entries }).length >= maxBatch);
  const batches = new Batcher(read, isFull, waitMs, clock);
  const stopped = new AbortController();
  const walk = {};
  const inFlight: Batch[] = [];
  let handedOver = 0;
  let gathering = false;
  let gathered: readonly BatchEntry[] | undefined;
  let inputEnd: { readonly error?: unknown } | undefined;
  let wake: (() => void) | undefined;

  const takeTurn = (batch: Batch): void => {
    ahead.leave(credits, batch.itemsAhead);
    batch.itemsAhead = 0;
  };
  const stop = (reason: unknown): void => {
    if (stopped.signal.aborted) return;
    stopped.abort(reason);
    input.close();
    for (const batch of inFlight) {
      takeTurn(batch);
      if (batch.outcome !== undefined && 'delivery' in batch.outcome) batch.outcome.delivery.credit.release();
    }
    wake?.();
  };
  const forget = onAbort(signal, stop);

  const gather = async (): Promise<void> => {
    gathering = true;
    try {
      gathered = await batches.next();
      if (gathered === undefined) inputEnd = {};
    } catch (error) {
      inputEnd = { error };
    }
    gathering = false;
    wake?.();
  };
  const query = async (batch: Batch, entries: readonly BatchEntry[]): Promise<void> => {
    try {
      const delivery = await queryBatch(entries, { credits, signal: stopped.signal, walk });
      batch.outcome = { delivery };
      if (stopped.signal.aborted) delivery.credit.release();
    } catch (error) {
      batch.outcome = { error };
    }
    wake?.();
  };
  /** Starts batches: one at first, and one more for each delivered batch, so a consumer of a single response spends a single request. */
  const fill = (): void => {
    while (inFlight.length < Math.min(parallel, 1 + handedOver)) {
      if (gathered === undefined) {
        if (!gathering && inputEnd === undefined) void gather();
        return;
      }
      // In addition to the responses for its entries, a batch can deliver as many unreadable records.
      const itemsAhead = inFlight.length === 0 ? 0 : 2 * gathered.length;
      if (itemsAhead > 0 && !ahead.enter(credits, itemsAhead, 2 * maxBatch)) return;
      const batch: Batch = { itemsAhead };
      inFlight.push(batch);
      void query(batch, gathered);
      gathered = undefined;
    }
  };

  return {
    async read() {
      for (;;) {
        stopped.signal.throwIfAborted();
        const outcome = inFlight[0]?.outcome;
        if (outcome !== undefined) {
          inFlight.shift();
          for (const next of inFlight.slice(0, 1)) takeTurn(next);
          if ('error' in outcome) {
            forget();
            stop(outcome.error);
            throw outcome.error;
          }
          handedOver += 1;
          return sharedCredit(outcome.delivery, 'each');
        }
        fill();
        if (inFlight.length === 0 && inputEnd !== undefined) {
          forget();
          if ('error' in inputEnd) throw inputEnd.error;
          return undefined;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
