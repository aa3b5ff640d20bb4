import { type Clock, type Delivery } from '@headgate/throttle';
import { pause } from '@headgate/throttle/internal';
import { delayMs } from '../retry/deadline.ts';
import type { QueryOptions, QueryStatus } from '../source.ts';
import type { HeldAttempts } from './held-attempts.ts';
import { type BooksQuery, type ControlIsbn, subjectOf } from './query.ts';
import type { BooksValue } from './results.ts';

/** Sends a query until it has a response. Rejects with an `AmbiguousError` for a 404 that may be the request limit. */
export type Send = (query: BooksQuery, options: QueryOptions) => Promise<Delivery<BooksValue>>;

/** The value of the response to a query. */
export type ValueOf<Query extends BooksQuery> = Extract<BooksValue, { readonly kind: Query['kind'] }>;

export interface DoubtOptions {
  readonly send: Send;
  readonly held: HeldAttempts;
  readonly maxBatch: number;
  /** Length of the window of the plan's limit, in ms. */
  readonly windowMs: number;
  /** Maximum total of the waits between the tries of one request, in ms. */
  readonly retryForMs: number;
  readonly clock: Clock;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
}

/** An ISBN that most catalogs know: The Odyssey, in the edition of Penguin Classics. */
const WELL_KNOWN = '9780140449136';

/** The state that requests in doubt share: the ISBNs that the service is known to have, and the waits before the next try. */
export class Doubt {
  readonly options: DoubtOptions;
  /** The two ISBNs that the service returned last. */
  #known: readonly string[] = [];
  readonly #waits = new Set<() => void>();
  readonly #rows = new Set<QueryStatus>();
  #isStopped = false;
  #underWay = 0;

  constructor(options: DoubtOptions) {
    this.options = options;
  }

  /** True if the service has returned a record of a book. */
  get knowsAny(): boolean {
    return this.#known.length > 0;
  }

  /** Number of queries that wait for their response. */
  get underWay(): number {
    return this.#underWay;
  }

  /** The requests that wait before their next try, for gauges. */
  get waiting(): readonly QueryStatus[] {
    return [...this.#rows];
  }

  /** Sends a query, and remembers the ISBNs that the service returns. */
  async ask<Query extends BooksQuery>(query: Query, options: QueryOptions): Promise<Delivery<ValueOf<Query>>> {
    this.#underWay += 1;
    const { value, credit } = await this.options.send(query, options).finally(() => {
      this.#underWay -= 1;
    });
    this.#remember(query, value);
    if (isOf<Query>(value, query)) return { value, credit };
    credit.release();
    throw new TypeError(`books: requested a ${query.kind}, but read a ${value.kind}`);
  }

  /** Returns an ISBN other than `isbns` that shows whether a 404 is about them. */
  controlFor(isbns: ReadonlySet<string>): ControlIsbn {
    const known = this.#known.find((isbn) => !isbns.has(isbn));
    return { isbn: known ?? WELL_KNOWN, isKnown: known !== undefined };
  }

  /** Shows in gauges that a query waits for its next try, in about `ms`, until the returned function is called. */
  show(query: BooksQuery, { walk = {} }: Pick<QueryOptions, 'walk'>, ms: number): () => void {
    const until = this.options.clock.epochMs() + ms;
    const reason = 'the service returned 404, which may be its request limit';
    const row: QueryStatus = { id: walk, subject: subjectOf(query), state: 'retrying', until, reason };
    this.#rows.add(row);
    return () => this.#rows.delete(row);
  }

  /** Waits before a try. Ends early after `stop`, because then the try itself ends with the right error. */
  async wait(ms: number, signal: AbortSignal = new AbortController().signal): Promise<void> {
    const { clock } = this.options;
    if (this.#isStopped) return;
    const early = (end: () => void): (() => void) => {
      this.#waits.add(end);
      return () => this.#waits.delete(end);
    };
    await pause({ clock, ms, signal, early });
  }

  /** Ends all waits. */
  stop(): void {
    this.#isStopped = true;
    for (const end of this.#waits) end();
  }

  #remember(query: BooksQuery, value: BooksValue): void {
    if (value.kind === 'book') this.#found(value.answer.isbn);
    if (value.kind !== 'batch' || query.kind !== 'batch') return;
    const { control } = query;
    if (control !== undefined && value.hasControl === true) this.#found(control.isbn);
    // The service may have removed the book, and a control must be an ISBN that it has.
    else this.#known = this.#known.filter((isbn) => isbn !== control?.isbn);
    const found = value.answers.findLast(({ kind }) => kind === 'found');
    if (found?.isbn !== undefined) this.#found(found.isbn);
  }

  #found(isbn: string): void {
    if (isbn !== this.#known[0]) this.#known = [isbn, ...this.#known.filter((one) => one !== isbn)].slice(0, 2);
  }
}

function isOf<Query extends BooksQuery>(value: BooksValue, query: Query): value is ValueOf<Query> {
  return value.kind === query.kind;
}

/** The waits between the tries of one request, until their total reaches `retryForMs`. Time in a queue or in flight doesn't count. */
export class Patience {
  readonly #retryForMs: number;
  readonly #random: () => number;
  #spentMs = 0;
  #waits = 0;

  constructor({ retryForMs, random }: Pick<DoubtOptions, 'retryForMs' | 'random'>) {
    this.#retryForMs = retryForMs;
    this.#random = random;
  }

  /** True if no time is left for another wait. */
  get isOver(): boolean {
    return this.#spentMs >= this.#retryForMs;
  }

  /** Returns the next wait in ms. It grows from 250 to 500 ms up to 15 to 30 s. */
  growing(): number {
    this.#waits += 1;
    return this.#spend(delayMs(this.#waits - 1, this.#random));
  }

  /** Returns a wait in ms between a quarter of `ms` and seven quarters. */
  about(ms: number): number {
    return this.#spend(ms * (0.25 + 1.5 * this.#random()));
  }

  #spend(ms: number): number {
    const wait = Math.min(ms, this.#retryForMs - this.#spentMs);
    this.#spentMs += wait;
    return wait;
  }
}
