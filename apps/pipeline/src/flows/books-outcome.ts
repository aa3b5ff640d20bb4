import { SourceError } from '@headgate/sources';
import type { BookAnswer, UnreadableBook } from '@headgate/sources/books';
import type { Clock } from '@headgate/throttle';
import type { NewRecord } from '@headgate/topics';
import type { Lane } from '../lanes/lane.ts';
import { TOPICS } from '../records/topic-names.ts';
import type { RunEvent } from '../status/run-event.ts';
import type { BookWish } from './book-wishes.ts';
import { bookRecord, missingRecord } from './books-records.ts';
import { deadLetter, type DeadLetterContent, type DeadLetterReason, reasonOf } from './dead-letter.ts';
import { digest } from './digest.ts';
import { assertFits } from './record-size.ts';

/** The records to write, and what to say of it when they are written. */
export interface Outcome {
  readonly records: readonly NewRecord[];
  readonly events: readonly RunEvent[];
}

/** An ISBN that was looked up for a wish. */
export interface Asked {
  readonly wish: BookWish;
  readonly isbn: string;
}

/** What comes of the answers of the books service. */
export interface BooksOutcomes {
  /** Of a batch. Where it has records that name no ISBN, none of its ISBNs is known to be missing. */
  ofAnswers(asked: readonly Asked[], answers: readonly BookAnswer[]): Outcome;
  /** Of something that can't be had. */
  ofError(wish: BookWish, key: string, content: DeadLetterContent, error: unknown): Outcome;
}

interface BooksOutcomesOptions {
  readonly lane: Pick<Lane, 'partition' | 'tooLarge' | 'room'>;
  readonly clock: Clock;
}

export function booksOutcomes({ lane, clock }: BooksOutcomesOptions): BooksOutcomes {
  const letterOf = (wish: BookWish, key: string, id: string, content: DeadLetterContent, error: unknown): Outcome => {
    const topic = TOPICS.booksDeadLetters;
    const letter = deadLetter({
      topic,
      partition: lane.partition,
      key,
      id: `${wish.id}/${id}`,
      content,
      error,
      at: clock.epochMs(),
      tooLarge: (record) => lane.tooLarge(record),
    });
    return { records: [letter], events: [{ type: 'dead-letter', topic, key, error: reasonOf(error) }] };
  };

  const ofError: BooksOutcomes['ofError'] = (wish, key, content, error) => letterOf(wish, key, key, content, error);

  const ofAnswers: BooksOutcomes['ofAnswers'] = (asked, answers) => {
    const byIsbn = new Map(answers.filter(({ kind }) => kind !== 'unreadable').map((answer) => [answer.isbn ?? answer.asked, answer]));
    const unreadable = answers.filter((answer): answer is UnreadableBook => answer.kind === 'unreadable');
    const records: NewRecord[] = [];
    const events: RunEvent[] = [];
    const add = (outcome: Outcome): void => {
      records.push(...outcome.records);
      events.push(...outcome.events);
    };
    let found = 0;
    let missing = 0;
    for (const { wish, isbn } of asked) {
      const about = { partition: lane.partition, request: wish.id, isbn };
      const answer = byIsbn.get(isbn);
      switch (answer?.kind) {
        case 'found': {
          const record = bookRecord(about, answer.record);
          try {
            assertFits([record], lane, { service: 'books', subject: isbn });
          } catch (error) {
            add(ofError(wish, isbn, { request: { isbn } }, error));
            break;
          }
          records.push(record);
          found += 1;
          break;
        }
        case 'missing':
        case undefined:
          if (unreadable.length > 0) {
            add(ofError(wish, isbn, { request: { isbn } }, perhapsThere(isbn, unreadable.length)));
            break;
          }
          records.push(missingRecord(about));
          missing += 1;
          break;
        case 'invalid':
          add(ofError(wish, isbn, { request: { isbn } }, answer.error));
          break;
        case 'unreadable':
          break;
      }
    }
    const [first] = asked;
    for (const { id, record, error } of withIds(unreadable)) {
      if (first !== undefined) add(letterOf(first.wish, first.wish.id, id, { record }, ofNone(error, asked.length)));
    }
    return { records, events: [{ type: 'books-written', found, missing }, ...events] };
  };

  return { ofAnswers, ofError };
}

/** Asked for again after a crash, the same record has the same id. */
function withIds(unreadable: readonly UnreadableBook[]): (Pick<UnreadableBook, 'record' | 'error'> & { readonly id: string })[] {
  const alike = new Map<string, number>();
  return unreadable.map(({ record, error }) => {
    const hash = digest(JSON.stringify(record), 22);
    const nth = (alike.get(hash) ?? 0) + 1;
    alike.set(hash, nth);
    return { record, error, id: nth === 1 ? `record/${hash}` : `record/${hash}/${nth}` };
  });
}

function perhapsThere(isbn: string, unreadable: number): SourceError {
  const records = unreadable === 1 ? 'a record that names' : `${unreadable} records that name`;
  const message =
    `${isbn}: no record names it, but its batch had ${records} no ISBN, so nobody can say that it is missing. ` +
    'Ask again with `headgate replay books.dead-letters`; with books.maxBatch: 1 it is asked for alone.';
  return new SourceError({ code: 'HEADGATE_INVALID_RECORD', message, retryable: true, service: 'books', subject: isbn });
}

/** The source reports the others as missing; a run does not. */
function ofNone(error: unknown, asked: number): DeadLetterReason {
  const message =
    `books: a record in the answer for ${asked} ISBNs is no object or names no ISBN, so it can't be laid to any of them. ` +
    'The others were read; those ISBNs that no record names are dead letters too, and can be put back with `headgate replay`.';
  return { ...reasonOf(error), message };
}
