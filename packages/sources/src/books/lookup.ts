import { type Credit, type CreditPool, type Delivery, type PageReader, type PageReadOptions, PageStream } from '@headgate/throttle';
import { Batcher, onAbort, orAborted, sharedCredit } from '@headgate/throttle/internal';
import type { QueryOptions } from '../source.ts';
import { closeIsbns, type IsbnInput, type IsbnIterator, openIsbns } from './isbn-input.ts';
import type { CheckedBooksOptions } from './options.ts';
import { type BatchEntry, batchEntry, isbnsToSend } from './query.ts';
import type { BookAnswer } from './results.ts';

/** Requests a batch. Resolves to one answer for each entry, and to the unreadable records. */
export type QueryBatch = (entries: readonly BatchEntry[], options: QueryOptions) => Promise<Delivery<readonly BookAnswer[]>>;

type LookupOptions = Pick<CheckedBooksOptions, 'maxBatch' | 'batchWaitMs' | 'limit' | 'clock'>;

/** Walks a list of ISBNs in batches; each response is a separate item, in the order of the list. */
export function lookup(
  isbns: IsbnInput,
  signal: AbortSignal | undefined,
  options: LookupOptions,
  early: EarlyItems,
  queryBatch: QueryBatch,
): PageStream<BookAnswer> {
  return new PageStream((reading) => new LookupReader(openIsbns(isbns), options, early, queryBatch, reading), { signal });
}

/**
 * Limits the items that all lookups of a client request before their turn. Responses are delivered in order, so an early one holds credit
 * until its turn comes. If early responses held all credit, the batch whose turn it is could never be requested.
 */
export class EarlyItems {
  readonly #items = new WeakMap<CreditPool, number>();

  /** Counts `items` of an early request. Returns false if that would leave less than `spare` of the pool. */
  enter(credits: CreditPool, items: number, spare: number): boolean {
    const sum = (this.#items.get(credits) ?? 0) + items;
    if (sum + spare > credits.max) return false;
    this.#items.set(credits, sum);
    return true;
  }

  /** Stops counting `items`, because their turn has come or they were given up. */
  leave(credits: CreditPool, items: number): void {
    this.#items.set(credits, (this.#items.get(credits) ?? 0) - items);
  }
}

/** A batch in the order of the list. */
interface Turn {
  /** Undefined after the last batch. */
  readonly delivery: Promise<Delivery<readonly BookAnswer[]> | undefined>;
  /** Called when all batches before it are delivered, and at the end of the lookup. */
  readonly come: () => void;
}

class LookupReader implements PageReader<BookAnswer> {
  readonly #input: IsbnIterator;
  readonly #options: LookupOptions;
  readonly #early: EarlyItems;
  readonly #queryBatch: QueryBatch;
  readonly #credits: CreditPool;
  readonly #batcher: Batcher<BatchEntry>;
  readonly #walk = {};
  readonly #stopped = new AbortController();
  readonly #forget: () => void;
  /** The batches that weren't delivered yet. */
  readonly #turns: Turn[] = [];
  /** Resolves when the newest batch has been read. */
  #gathered: Promise<unknown> = Promise.resolve();
  /** Credit of batches that arrived before their turn. */
  readonly #held = new Set<Credit>();
  #delivered = 0;

  constructor(
    input: IsbnIterator,
    options: LookupOptions,
    early: EarlyItems,
    queryBatch: QueryBatch,
    { credits, signal }: PageReadOptions,
  ) {
    this.#input = input;
    this.#options = options;
    this.#early = early;
    this.#queryBatch = queryBatch;
    this.#credits = credits;
    const read = async (): Promise<readonly BatchEntry[] | undefined> => {
      const { done, value } = await input.next();
      return done === true ? undefined : [batchEntry(value)];
    };
    this.#batcher = new Batcher(read, (entries) => this.#isFull(entries), options.batchWaitMs, options.clock);
    this.#forget = onAbort(signal, (reason) => this.#stop(reason));
  }

  async read(): Promise<readonly Delivery<BookAnswer>[] | undefined> {
    // One batch at first, and one more for each delivered batch, so a consumer of a single response spends a single request.
    while (this.#turns.length < Math.min(this.#options.limit.requests, 1 + this.#delivered)) this.#begin();
    const turn = this.#turns[0] ?? this.#begin();
    turn.come();
    try {
      const delivery = await orAborted(this.#stopped.signal, turn.delivery);
      if (delivery === undefined) {
        this.#forget();
        return undefined;
      }
      this.#turns.shift();
      this.#delivered += 1;
      this.#held.delete(delivery.credit);
      return sharedCredit(delivery, 'each');
    } catch (error) {
      this.#forget();
      this.#stop(error);
      throw error;
    }
  }

  /** Malformed and repeated entries aren't sent, so they don't count. But a batch never has more than 2 × `maxBatch` entries. */
  #isFull(entries: readonly BatchEntry[]): boolean {
    const { maxBatch } = this.#options;
    if (entries.length < maxBatch) return false;
    return entries.length >= 2 * maxBatch || isbnsToSend({ kind: 'batch', entries }).length >= maxBatch;
  }

  #begin(): Turn {
    const { promise: itsTurn, resolve: come } = Promise.withResolvers<void>();
    const entries = this.#gather(itsTurn, this.#gathered);
    const delivery = entries.then((some) => some && this.#query(some));
    // An error is thrown when the batch's turn comes.
    delivery.catch(() => undefined);
    this.#gathered = entries;
    const turn = { delivery, come };
    this.#turns.push(turn);
    return turn;
  }

  /** Reads a batch, and waits for its turn if early responses hold too much credit. */
  async #gather(itsTurn: Promise<void>, previous: Promise<unknown>): Promise<readonly BatchEntry[] | undefined> {
    await previous;
    const entries = await this.#batcher.next();
    if (entries === undefined) return undefined;
    // In addition to the responses for its entries, a batch can deliver as many unreadable records.
    const items = 2 * entries.length;
    if (!this.#early.enter(this.#credits, items, 2 * this.#options.maxBatch)) await itsTurn;
    else void itsTurn.then(() => this.#early.leave(this.#credits, items));
    return entries;
  }

  async #query(entries: readonly BatchEntry[]): Promise<Delivery<readonly BookAnswer[]>> {
    const { signal } = this.#stopped;
    const delivery = await this.#queryBatch(entries, { credits: this.#credits, signal, walk: this.#walk });
    if (signal.aborted) delivery.credit.release();
    else this.#held.add(delivery.credit);
    return delivery;
  }

  #stop(reason: unknown): void {
    if (this.#stopped.signal.aborted) return;
    this.#stopped.abort(reason);
    closeIsbns(this.#input);
    for (const credit of this.#held) credit.release();
    for (const { come } of this.#turns) come();
  }
}
