import { creditPool, type Delivery } from '@headgate/throttle';
import { pause } from '@headgate/throttle/internal';
import { delayMs } from '../retry/deadline.ts';
import { SourceError } from '../source-error.ts';
import type { AttemptEvent } from '../source-options.ts';
import type { QueryOptions, QueryStatus } from '../source.ts';
import { authorNotFound, bookNotFound, nothingButNotFound, undecided } from './books-errors.ts';
import type { CheckedBooksOptions } from './options.ts';
import {
  type AuthorQuery,
  type BatchQuery,
  type BooksQuery,
  type ControlIsbn,
  type RequestedIsbn,
  subjectOf,
  validIsbns,
} from './query.ts';
import type { BooksValue, FoundBook } from './results.ts';

/** Sends a query until it has a response. Rejects with `HEADGATE_AMBIGUOUS` for a 404 that may be the request limit. */
export type Send = (query: BooksQuery, options: QueryOptions) => Promise<Delivery<BooksValue>>;

/** The value of the response to a query. */
type ValueOf<Query extends BooksQuery> = Extract<BooksValue, { readonly kind: Query['kind'] }>;

/** An ISBN that most catalogs know: The Odyssey, in the edition of Penguin Classics. */
const WELL_KNOWN = '9780140449136';
/** An author counts as unknown when an error is less probable than this. */
const MOST_CHANCE = 1e-6;
/** Number of controls for each try of an author. */
const CONTROLS = 3;

/**
 * Sends queries until their answer is definite. A 404 isn't, because the service returns it at its request limit, too.
 *
 * A batch's 200 is definite, because it leaves out unknown ISBNs. A 404 to a batch with a control, an ISBN that the service has, is the limit.
 * For an author, only chance decides.
 */
export class Doubt {
  readonly #send: Send;
  readonly #options: CheckedBooksOptions;
  /** The two ISBNs that the service returned last. */
  #known: readonly string[] = [];
  /** Number of refusals because of a limit, by credential. */
  readonly #refusals = new Map<string, number>();
  /** Queries that wait before their next try, each with the function that ends the wait. */
  readonly #waits = new Map<QueryStatus, () => void>();
  #isStopped = false;
  /** For what is requested without regard to downstream. Its credit needn't be released. */
  readonly #unlimited = creditPool({ max: Infinity });

  constructor(send: Send, options: CheckedBooksOptions) {
    this.#send = send;
    this.#options = options;
  }

  /** The queries that wait before their next try, for gauges. */
  get waiting(): readonly QueryStatus[] {
    return [...this.#waits.keys()];
  }

  /** Looks up one book. Throws `HEADGATE_BOOK_NOT_FOUND` only after a batch has shown that the service doesn't know it. */
  async book(isbn: RequestedIsbn, signal: AbortSignal | undefined): Promise<FoundBook> {
    const options = { credits: this.#unlimited, signal };
    try {
      const { value } = await this.#ask({ kind: 'book', isbn }, options);
      return value.answer;
    } catch (error) {
      if (!hasCode(error, 'HEADGATE_AMBIGUOUS')) throw error;
      const { value } = await this.batch({ kind: 'batch', entries: [isbn] }, options, true);
      const [answer, unreadable] = value.answers;
      if (answer?.kind === 'found') return answer;
      throw unreadable?.kind === 'unreadable' ? unreadable.error : bookNotFound(isbn.isbn, error.credential);
    }
  }

  /** Looks up at most `maxBatch` ISBNs. `isDoubted`: true if one of them got a 404 before. */
  async batch(query: BatchQuery, options: QueryOptions, isDoubted = false): Promise<Delivery<ValueOf<BatchQuery>>> {
    const isbns = new Set(validIsbns(query.entries));
    const patience = new Patience(this.#options);
    let hasControl = isDoubted;
    for (;;) {
      const control = isbns.size < this.#options.maxBatch ? this.#controlFor(isbns) : undefined;
      const isProof = control?.isKnown === true;
      const isLast = !isProof && patience.isOver;
      try {
        return await this.#ask({ ...query, isLast, ...(hasControl && { control }) }, options);
      } catch (error) {
        if (!hasCode(error, 'HEADGATE_AMBIGUOUS')) throw error;
        if (hasControl && control !== undefined) this.#refused(error.credential);
        if (isLast) throw error;
      }
      if (control === undefined && query.entries.length > 1) return await this.#halves(query, options);
      if (!isProof) await this.#pause(patience.growing(), query, options);
      hasControl = true;
    }
  }

  /** Looks up an author. Throws `HEADGATE_AUTHOR_NOT_FOUND` only if chance hardly explains that the service always returned 404. */
  async author(query: AuthorQuery, options: QueryOptions): Promise<Delivery<ValueOf<AuthorQuery>>> {
    try {
      return await this.#ask(query, options);
    } catch (error) {
      if (!hasCode(error, 'HEADGATE_AMBIGUOUS')) throw error;
      try {
        return await this.#tried(query, error.credential ?? '', options);
      } catch (end) {
        // The credential left the pool, and the next one has its own limit.
        if (hasCode(end, 'HEADGATE_NO_CREDENTIAL')) return await this.author(query, options);
        throw end;
      }
    }
  }

  /** Notes an attempt of any request. */
  saw({ outcome, credential }: AttemptEvent): void {
    if (outcome === 'rate-limited') this.#refused(credential);
  }

  /** Ends all waits. Then the tries that they precede end with the right error. */
  stop(): void {
    this.#isStopped = true;
    for (const end of this.#waits.values()) end();
  }

  /** Looks up a full batch as two, which have room for a control. */
  async #halves(query: BatchQuery, options: QueryOptions): Promise<Delivery<ValueOf<BatchQuery>>> {
    const { entries } = query;
    const middle = entries.length >> 1;
    const { value: first } = await this.batch(
      { ...query, entries: entries.slice(0, middle) },
      { ...options, credits: this.#unlimited },
      true,
    );
    const rest = { ...query, entries: entries.slice(middle), items: query.items ?? entries.length };
    const { value: second, credit } = await this.batch(rest, options, true);
    const answers = [...first.answers, ...second.answers];
    credit.resize(answers.length);
    const ordered = answers.toSorted((one, other) => Number(one.kind === 'unreadable') - Number(other.kind === 'unreadable'));
    return { value: { ...second, answers: ordered, ignored: first.ignored + second.ignored }, credit };
  }

  /**
   * Tries an author again, in rounds: one try and some controls, one after the other in a random order.
   *
   * If the service knew the author, the 404 would come from the limit, and the limit doesn't depend on the order. So if it refused `k` of `n`
   * controls and the author, it would have refused the author with the probability (k + 1) / (n + 1). The product over all rounds is the
   * probability of an error. It is exact even if the limit refuses most requests, or those at certain times. Rounds aren't joined, because
   * each refusal puts the budget on hold: over a longer time, controls would be refused less often than the author.
   */
  async #tried(author: AuthorQuery, only: string, options: QueryOptions): Promise<Delivery<ValueOf<AuthorQuery>>> {
    const { limit, random } = this.#options;
    const query = { ...author, only };
    const patience = new Patience(this.#options);
    const controls = { answered: 0, refused: 0 };
    let chance = 1;
    let tries = 1;
    for (; !patience.isOver; tries += 1) {
      // A random time, so that another program that sends at regular times doesn't meet the same step of each round.
      await this.#pause(patience.about((limit.windowMs * (1 + (tries - 1) / 4)) / 2), query, options);
      const turn = Math.floor(random() * (CONTROLS + 1));
      let refused = 0;
      for (let step = 0; step <= CONTROLS; step += 1) {
        if (step === turn) {
          const delivery = await orAmbiguous(this.#ask(query, options));
          if (delivery !== undefined) return delivery;
        } else {
          const before = this.#refusals.get(only);
          const control = this.batch({ kind: 'batch', entries: [], only }, { ...options, credits: this.#unlimited }, true);
          if ((await orAmbiguous(control)) === undefined) throw this.#undecided(query, tries, controls);
          if (this.#refusals.get(only) !== before) refused += 1;
        }
      }
      controls.answered += CONTROLS - refused;
      controls.refused += refused;
      chance *= (refused + 1) / (CONTROLS + 1);
      if (chance < MOST_CHANCE) throw authorNotFound(author.name, only);
    }
    throw this.#undecided(query, tries, controls);
  }

  #undecided(query: AuthorQuery, tries: number, controls: { readonly answered: number; readonly refused: number }): SourceError {
    const answered = { subject: query.name, credential: query.only, status: 404 };
    const knowsNothing = controls.answered === 0 && this.#known.length === 0;
    return knowsNothing ? nothingButNotFound(answered) : undecided(answered, tries, controls.answered, controls.refused);
  }

  async #ask<Query extends BooksQuery>(query: Query, options: QueryOptions): Promise<Delivery<ValueOf<Query>>> {
    const { value, credit } = await this.#send(query, options);
    if (value.kind === 'book') this.#found(value.answer.isbn);
    if (value.kind === 'batch' && query.kind === 'batch') {
      const { control } = query;
      if (value.hasControl === true && control !== undefined) this.#found(control.isbn);
      // The service may have removed the book, and a control must be an ISBN that it has.
      else this.#known = this.#known.filter((isbn) => isbn !== control?.isbn);
      const found = value.answers.findLast(({ kind }) => kind === 'found');
      if (found?.isbn !== undefined) this.#found(found.isbn);
    }
    // The definition reads each response as a value of the query's kind.
    return { value: value as ValueOf<Query>, credit };
  }

  #found(isbn: string): void {
    if (isbn !== this.#known[0]) this.#known = [isbn, ...this.#known.filter((one) => one !== isbn)].slice(0, 2);
  }

  /** Returns an ISBN other than `isbns` that shows whether a 404 is about them. */
  #controlFor(isbns: ReadonlySet<string>): ControlIsbn {
    const known = this.#known.find((isbn) => !isbns.has(isbn));
    return { isbn: known ?? WELL_KNOWN, isKnown: known !== undefined };
  }

  #refused(credential = ''): void {
    this.#refusals.set(credential, (this.#refusals.get(credential) ?? 0) + 1);
  }

  /** Waits before a try, and shows the query in gauges until then. */
  async #pause(ms: number, query: BooksQuery, { walk = {}, signal = new AbortController().signal }: QueryOptions): Promise<void> {
    if (this.#isStopped) return;
    const { clock } = this.#options;
    const reason = 'the service returned 404, which may be its request limit';
    const row: QueryStatus = { id: walk, subject: subjectOf(query), state: 'retrying', until: clock.epochMs() + ms, reason };
    const early = (end: () => void): (() => void) => {
      this.#waits.set(row, end);
      return () => this.#waits.delete(row);
    };
    await pause({ clock, ms, signal, early });
  }
}

/** The waits between the tries of one request, until their total reaches `retryForMs`. Time in a queue or in flight doesn't count. */
class Patience {
  readonly #options: Pick<CheckedBooksOptions, 'retryForMs' | 'random'>;
  #spentMs = 0;
  #waits = 0;

  constructor(options: Pick<CheckedBooksOptions, 'retryForMs' | 'random'>) {
    this.#options = options;
  }

  /** True if no time is left for another wait. */
  get isOver(): boolean {
    return this.#spentMs >= this.#options.retryForMs;
  }

  /** Returns the next wait in ms. It grows from 250 to 500 ms up to 15 to 30 s. */
  growing(): number {
    this.#waits += 1;
    return this.#spend(delayMs(this.#waits - 1, this.#options.random));
  }

  /** Returns a wait in ms between a quarter of `ms` and seven quarters. */
  about(ms: number): number {
    return this.#spend(ms * (0.25 + 1.5 * this.#options.random()));
  }

  #spend(ms: number): number {
    const wait = Math.min(ms, this.#options.retryForMs - this.#spentMs);
    this.#spentMs += wait;
    return wait;
  }
}

function hasCode(error: unknown, code: SourceError['code']): error is SourceError {
  return error instanceof SourceError && error.code === code;
}

/** Resolves as `response` does, or to undefined if it is a 404 that may be the request limit. */
async function orAmbiguous<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (hasCode(error, 'HEADGATE_AMBIGUOUS')) return undefined;
    throw error;
  }
}
