import type { BookAnswer } from '@headgate/sources/books';
import type { Clock } from '@headgate/throttle';
import type { NewRecord } from '@headgate/topics';
import type { Lane } from '../lanes/lane.ts';
import { TOPICS } from '../records/topic-names.ts';
import type { RunEvent } from '../status/run-event.ts';
import type { BookWish } from './book-wishes.ts';
import { bookRecord, missingRecord } from './books-records.ts';
import { deadLetter, type DeadLetterContent, reasonOf } from './dead-letter.ts';
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
  /** Of a batch. */
  ofAnswers(asked: readonly Asked[], answers: readonly BookAnswer[]): Outcome;
  /** Of something that can't be had. */
  ofError(wish: BookWish, key: string, content: DeadLetterContent, error: unknown): Outcome;
}

export function booksOutcomes({ lane, clock }: { readonly lane: Lane; readonly clock: Clock }): BooksOutcomes {
  const ofError: BooksOutcomes['ofError'] = (wish, key, content, error) => {
    const topic = TOPICS.booksDeadLetters;
    const letter = deadLetter({
      topic,
      partition: lane.partition,
      key,
      id: `${wish.id}/${key}`,
      content,
      error,
      at: clock.epochMs(),
      tooLarge: (record) => lane.tooLarge(record),
    });
    return { records: [letter], events: [{ type: 'dead-letter', topic, key, error: reasonOf(error) }] };
  };

  const ofAnswers: BooksOutcomes['ofAnswers'] = (asked, answers) => {
    const byIsbn = new Map(answers.filter(({ kind }) => kind !== 'unreadable').map((answer) => [answer.isbn ?? answer.asked, answer]));
    const records: NewRecord[] = [];
    const events: RunEvent[] = [];
    const dead = (...letter: Parameters<BooksOutcomes['ofError']>): void => {
      const outcome = ofError(...letter);
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
            dead(wish, isbn, { request: { isbn } }, error);
            break;
          }
          records.push(record);
          found += 1;
          break;
        }
        case 'missing':
        case undefined:
          records.push(missingRecord(about));
          missing += 1;
          break;
        case 'invalid':
          dead(wish, isbn, { request: { isbn } }, answer.error);
          break;
        case 'unreadable':
          break;
      }
    }
    const [first] = asked;
    for (const answer of answers) {
      if (answer.kind === 'unreadable' && first !== undefined) dead(first.wish, first.wish.id, { record: answer.record }, answer.error);
    }
    return { records, events: [{ type: 'books-written', found, missing }, ...events] };
  };

  return { ofAnswers, ofError };
}
