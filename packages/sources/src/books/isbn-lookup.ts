import { creditPool, type Delivery } from '@headgate/throttle';
import { abortable } from '@headgate/throttle/internal';
import type { QueryOptions } from '../source.ts';
import { AmbiguousError, bookNotFound } from './books-errors.ts';
import { type Doubt, Patience } from './doubt.ts';
import type { MatchedRecords } from './match-records.ts';
import { type BatchEntry, type BatchQuery, type RequestedIsbn, validIsbns } from './query.ts';
import type { BookAnswer, FoundBook } from './results.ts';
import type { Trials } from './trials.ts';

/** A 404 to a batch, and whether the batch had a control. */
interface Doubtful {
  readonly error: AmbiguousError;
  readonly hasControl: boolean;
}

/** A book that waits for a batch to show whether the service knows it. */
interface SuspectBook {
  readonly entry: RequestedIsbn;
  readonly resolve: (answers: readonly BookAnswer[]) => void;
  readonly reject: (reason: unknown) => void;
  /** Called when the caller no longer waits. */
  leave: () => void;
}

/**
 * Looks ISBNs up until the service's answer is definite. A 404 isn't: the service returns it at its request limit, too. A batch's 200 is,
 * because it leaves out unknown ISBNs. A 404 to a batch with an ISBN that the service has (a control) is the limit.
 */
export class IsbnLookup {
  readonly #doubt: Doubt;
  readonly #trials: Trials;
  readonly #batchWaitMs: number;
  readonly #unlimited = creditPool({ max: Infinity });
  #suspects: SuspectBook[] = [];
  #isSettling = false;

  constructor(doubt: Doubt, trials: Trials, batchWaitMs: number) {
    this.#doubt = doubt;
    this.#trials = trials;
    this.#batchWaitMs = batchWaitMs;
  }

  /** Looks up one book. Throws `HEADGATE_BOOK_NOT_FOUND` only after a batch has shown that the service doesn't know it. */
  async book(isbn: RequestedIsbn, signal: AbortSignal | undefined): Promise<FoundBook> {
    try {
      const { value, credit } = await this.#doubt.ask({ kind: 'book', isbn }, { credits: this.#unlimited, signal });
      credit.release();
      return value.answer;
    } catch (error) {
      if (!(error instanceof AmbiguousError)) throw error;
      return await this.#suspected(isbn, error, signal);
    }
  }

  /** Looks up at most `maxBatch` ISBNs. */
  async batch(entries: readonly BatchEntry[], options: QueryOptions): Promise<Delivery<MatchedRecords>> {
    return await this.#settled({ kind: 'batch', entries }, options);
  }

  /** Makes a request that the service answers with 200 unless its limit is reached. */
  async askControl(only: string, signal: AbortSignal): Promise<void> {
    const { credit } = await this.#settled({ kind: 'batch', entries: [], only }, { credits: this.#unlimited, signal }, true);
    credit.release();
  }

  async #settled(query: BatchQuery, options: QueryOptions, isSuspect = false): Promise<Delivery<MatchedRecords>> {
    const { maxBatch, held } = this.#doubt.options;
    const isbns = new Set(validIsbns(query));
    const patience = new Patience(this.#doubt.options);
    const doubtful: Doubtful[] = [];
    let apart: MatchedRecords | undefined;
    try {
      for (;;) {
        const control = this.#doubt.controlFor(isbns);
        const isLast = !control.isKnown && patience.isOver;
        const hasControl = isSuspect || doubtful.length > 0;
        let asked: BatchQuery = { ...query, isLast };
        const isFull = hasControl && isbns.size >= maxBatch;
        if (isFull && maxBatch > 1) {
          const [later = ''] = isbns;
          apart ??= await this.#apart(later, query, options);
          asked = { ...asked, control, later };
        } else if (hasControl && !isFull) asked = { ...asked, control };
        try {
          const { value, credit } = await (isFull && maxBatch === 1 ? this.#tried(query, options) : this.#doubt.ask(asked, options));
          const whole = apart === undefined ? value : joined(value, apart);
          credit.resize(whole.answers.length);
          this.#settle(doubtful, whole);
          return { value: whole, credit };
        } catch (error) {
          if (!(error instanceof AmbiguousError)) throw error;
          doubtful.push({ error, hasControl });
          if (isLast) throw error;
        }
        if (!this.#doubt.controlFor(isbns).isKnown) await this.#pause(patience.growing(), asked, options);
      }
    } finally {
      for (const { error } of doubtful) held.settle(error, 'ambiguous');
    }
  }

  async #pause(ms: number, query: BatchQuery, options: QueryOptions): Promise<void> {
    const hide = this.#doubt.show(query, options, ms);
    try {
      await this.#doubt.wait(ms, options.signal);
    } finally {
      hide();
    }
  }

  /** Reports the earlier attempts of a batch that has its answers now. */
  #settle(doubtful: readonly Doubtful[], { answers, hasControl }: MatchedRecords): void {
    const isAnyFound = answers.some(({ kind }) => kind === 'found');
    for (const one of doubtful)
      this.#doubt.options.held.settle(one.error, isAnyFound || (one.hasControl && hasControl === true) ? 'limit' : 'not found');
  }

  /** Looks up the one ISBN of a full batch that has no room for it and a control. */
  async #apart(isbn: string, { entries, ...query }: BatchQuery, options: QueryOptions): Promise<MatchedRecords> {
    const own = entries.filter((entry) => entry.isbn === isbn).slice(0, 1);
    const { value, credit } = await this.#settled({ ...query, entries: own }, { ...options, credits: this.#unlimited }, true);
    credit.release();
    return value;
  }

  /** Looks up the only ISBN of a batch without room for a control. */
  async #tried(query: BatchQuery, options: QueryOptions): Promise<Delivery<MatchedRecords>> {
    const tried = await this.#trials.ask(query, options);
    if (!(tried instanceof AmbiguousError)) return tried;
    const answers = query.entries.map((entry): BookAnswer =>
      entry.isbn === undefined ? { kind: 'invalid', ...entry } : { kind: 'missing', ...entry },
    );
    const credit = options.credits.reserve(0);
    credit.resize(answers.length);
    return { value: { answers, ignored: 0 }, credit };
  }

  /** Settles the 404 of one book. Books whose 404 arrives within `batchWaitMs` share a batch. */
  async #suspected(entry: RequestedIsbn, error: AmbiguousError, signal: AbortSignal | undefined): Promise<FoundBook> {
    const { held } = this.#doubt.options;
    try {
      const answers = await abortable<readonly BookAnswer[]>(signal, (resolve, reject) => {
        const leave = (): void => {
          this.#suspects = this.#suspects.filter((one) => one !== suspect);
        };
        const suspect: SuspectBook = { entry, resolve, reject, leave };
        this.#suspects.push(suspect);
        void this.#settleSuspects();
        return () => suspect.leave();
      });
      const found = answers.find((answer): answer is FoundBook => answer.kind === 'found' && answer.isbn === entry.isbn);
      held.settle(error, found === undefined ? 'not found' : 'limit');
      if (found !== undefined) return { ...found, requested: entry.requested };
      const unreadable = answers.find((answer) => answer.kind === 'unreadable');
      throw unreadable?.error ?? bookNotFound({ isbn: entry.isbn, credential: error.credential });
    } finally {
      held.settle(error, 'ambiguous');
    }
  }

  async #settleSuspects(): Promise<void> {
    if (this.#isSettling) return;
    this.#isSettling = true;
    while (this.#suspects.length > 0) {
      await this.#doubt.wait(this.#batchWaitMs);
      const some = this.#suspects.splice(0, Math.max(1, this.#doubt.options.maxBatch - 1));
      if (some.length === 0) continue;
      const abort = new AbortController();
      const left = new Set(some);
      for (const suspect of some) {
        suspect.leave = () => {
          left.delete(suspect);
          if (left.size === 0) abort.abort();
        };
      }
      const options = { credits: this.#unlimited, signal: abort.signal };
      try {
        const { value, credit } = await this.#settled(batchOf(some), options, true);
        credit.release();
        for (const { resolve } of some) resolve(value.answers);
      } catch (error) {
        for (const { reject } of some) reject(error);
      }
    }
    this.#isSettling = false;
  }
}

function batchOf(suspects: readonly SuspectBook[]): BatchQuery {
  return { kind: 'batch', entries: suspects.map(({ entry }) => entry) };
}

/** Returns the answers of a batch, in which one ISBN was asked for apart from the others. */
function joined(batch: MatchedRecords, apart: MatchedRecords): MatchedRecords {
  const [own, ...unreadable] = apart.answers;
  const answers = batch.answers.map((answer): BookAnswer => {
    const isApart = answer.isbn !== undefined && answer.isbn === own?.isbn;
    return isApart ? { ...own, requested: answer.requested } : answer;
  });
  return { ...batch, answers: [...answers, ...unreadable], ignored: batch.ignored + apart.ignored };
}
