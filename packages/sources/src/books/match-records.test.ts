import { toIsbn13 } from '@headgate/operators';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matchRecords } from './match-records.ts';
import { batchEntry } from './query.ts';

const query = (...isbns: string[]): Parameters<typeof matchRecords>[0] => ({ kind: 'batch', entries: isbns.map(batchEntry) });

test('one result for each requested ISBN, in the order of the request, in whichever order records arrive', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 40 }),
      fc.func(fc.integer()),
      fc.func(fc.boolean()),
      (numbers, order, known) => {
        const requested = numbers.map(isbnNumber);
        const sent = [...new Set(requested)].filter((isbn) => known(isbn)).toSorted((a, b) => order(a) - order(b));
        const { answers, ignored } = matchRecords(
          query(...requested),
          sent.map((isbn13) => ({ isbn13, title: `of ${isbn13}` })),
        );
        expect(ignored).toBe(0);
        expect(answers).toEqual(
          requested.map((isbn) =>
            known(isbn)
              ? { kind: 'found', requested: isbn, isbn, record: { isbn13: isbn, title: `of ${isbn}` } }
              : { kind: 'missing', requested: isbn, isbn },
          ),
        );
      },
    ),
  );
});

test.each([
  ['isbn13 alone', { isbn13: '9780306406157' }],
  ['isbn alone, as ISBN-10', { isbn: '0306406152' }],
  ['isbn10 alone', { isbn10: '0306406152' }],
  ['an empty isbn13', { isbn13: '', isbn: '0306406152' }],
  ['hyphens', { isbn13: '978-0-306-40615-7' }],
  ['a number', { isbn13: 9780306406157 }],
  ['a number that has lost its leading zero', { isbn: 306406152 }],
  ['an isbn13 of another edition', { isbn13: '9780804429573', isbn: '0306406152' }],
])('a record is known by %s', (_, record) => {
  expect(matchRecords(query('0-306-40615-2'), [record])).toEqual({
    answers: [{ kind: 'found', requested: '0-306-40615-2', isbn: '9780306406157', record }],
    ignored: 0,
  });
});

test('records that were not requested, or come twice, are ignored and counted', () => {
  const records = [{ isbn13: '9780804429573' }, { isbn13: '9780306406157', n: 1 }, { isbn13: '9780306406157', n: 2 }];
  const { answers, ignored } = matchRecords(query('9780306406157'), records);
  expect(answers).toMatchObject([{ kind: 'found', record: { n: 1 } }]);
  expect(ignored).toBe(2);
});

test('a record that matches no ISBN comes after the results, and does not affect the others', () => {
  const dead = ['text', null, 7, [], { title: 'no ISBN' }, { isbn13: null, isbn: '' }, { isbn13: '9780306406158' }];
  const requested = ['9780306406157', ...dead.map(() => '080442957X')];
  const { answers } = matchRecords(query(...requested), [...dead, { isbn13: '9780306406157' }]);
  expect(answers.map(({ kind }) => kind)).toEqual(['found', ...dead.map(() => 'missing'), ...dead.map(() => 'unreadable')]);
  expect(answers.slice(requested.length)).toMatchObject(
    dead.map((record) => ({ record, error: { code: 'HEADGATE_INVALID_RECORD', retryable: false } })),
  );
});

test('invalid records are passed on up to the number of requested ISBNs, and the rest is counted', () => {
  const { answers, ignored } = matchRecords(
    query('9780306406157', '080442957X'),
    Array.from({ length: 100_000 }, () => ({})),
  );
  expect(answers.map(({ kind }) => kind)).toEqual(['missing', 'missing', 'unreadable', 'unreadable']);
  expect(ignored).toBe(99_998);
});

test('a malformed ISBN is answered in its place', () => {
  const { answers } = matchRecords(query('080442957X', 'no\nsense', '9780306406157'), [{ isbn13: '9780306406157' }]);
  expect(answers).toMatchObject([{ kind: 'missing' }, { kind: 'invalid', requested: 'no\nsense', isbn: undefined }, { kind: 'found' }]);
  expect(answers[1]).toMatchObject({ error: { code: 'HEADGATE_INVALID_ISBN', retryable: false } });
  expect(answers[1]?.kind === 'invalid' && answers[1].error.message).toContain(String.raw`"no\nsense" isn't an ISBN`);
});

function isbnNumber(n: number): string {
  const stem = `978030640${String(n).padStart(3, '0')}`;
  return Array.from({ length: 10 }, (_, check) => toIsbn13(`${stem}${check}`)).find((isbn) => isbn !== undefined) ?? '';
}
