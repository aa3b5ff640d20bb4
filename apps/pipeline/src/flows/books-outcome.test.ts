import { SourceError } from '@headgate/sources';
import type { BookAnswer } from '@headgate/sources/books';
import { sampleIsbn } from '@headgate/sandbox';
import { systemClock } from '@headgate/throttle';
import type { NewRecord } from '@headgate/topics';
import { expect, test } from 'vitest';
import { offsetRanges } from '../lanes/offset-ranges.ts';
import type { BookWish } from './book-wishes.ts';
import { booksOutcomes } from './books-outcome.ts';

const outcomes = booksOutcomes({ lane: { partition: 0, tooLarge: () => undefined, room: () => undefined }, clock: systemClock() });
const [found, unknown, other] = [sampleIsbn(1), sampleIsbn(2), sampleIsbn(3)];
const wish: BookWish = { id: 'books.requests-0-7', offset: 7, key: null, asks: [], answered: offsetRanges(), left: 0 };

test('an ISBN is missing only where each record of its batch names one', () => {
  expect(written(answersFor([found, unknown], [])).map(({ topic, key }) => `${topic} ${key}`)).toEqual([
    `books.records ${found}`,
    `books.missing ${unknown}`,
  ]);
  const records = written(answersFor([found, unknown, other], [{ title: 'no ISBN' }]));
  expect(records.map(({ topic, key }) => `${topic} ${key}`)).toEqual([
    `books.records ${found}`,
    `books.dead-letters ${unknown}`,
    `books.dead-letters ${other}`,
    `books.dead-letters ${wish.id}`,
  ]);
  const [, perhaps, , none] = records.map(({ value }) => JSON.parse(value ?? ''));
  expect(perhaps).toMatchObject({ request: { isbn: unknown }, error: { code: 'HEADGATE_INVALID_RECORD', retryable: true } });
  expect(perhaps.error.message).toMatch(/its batch had a record that names no ISBN.*Ask again with `headgate replay/);
  expect(none).toMatchObject({ record: { title: 'no ISBN' }, error: { code: 'HEADGATE_INVALID_RECORD', retryable: false } });
});

test('each unreadable record has an id of its own, and the same again whatever else comes with it', () => {
  const unreadable = [{ n: 1 }, { n: 2 }, null, { n: 1 }, { n: 1 }];
  const ids = idsOfRecords(answersFor([found, unknown], unreadable));
  expect(new Set(ids).size).toBe(5);
  expect(idsOfRecords(answersFor([found, unknown], unreadable))).toEqual(ids);
  expect(idsOfRecords(answersFor([found, other], [{ n: 2 }, { n: 1 }]))).toEqual([ids[1], ids[0]]);
});

function answersFor(isbns: readonly string[], unreadable: readonly unknown[]): BookAnswer[] {
  const error = new SourceError({ code: 'HEADGATE_INVALID_RECORD', message: 'no ISBN', retryable: false, service: 'books' });
  return [
    ...isbns.map((isbn): BookAnswer =>
      isbn === found ? { kind: 'found', asked: isbn, isbn, record: { isbn13: isbn } } : { kind: 'missing', asked: isbn, isbn },
    ),
    ...unreadable.map((record): BookAnswer => ({ kind: 'unreadable', asked: undefined, isbn: undefined, record, error })),
  ];
}

function written(answers: readonly BookAnswer[]): readonly NewRecord[] {
  const asked = answers.flatMap(({ isbn }) => (isbn === undefined ? [] : [{ wish, isbn }]));
  return outcomes.ofAnswers(asked, answers).records;
}

function idsOfRecords(answers: readonly BookAnswer[]): (string | undefined)[] {
  return written(answers)
    .filter(({ key }) => key === wish.id)
    .map(({ headers }) => headers?.['ce_id']);
}
