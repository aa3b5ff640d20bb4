import fc from 'fast-check';
import { expect, test } from 'vitest';

import { authorBooks, bookRecord } from './book-records.ts';
import { isbnFromHash, sampleIsbn, toIsbn10, toIsbn13 } from './isbn.ts';

test('samples are distinct and valid', () => {
  const isbns = Array.from({ length: 5000 }, (_, index) => sampleIsbn(index));
  expect(new Set(isbns).size).toBe(5000);
  expect(isbns.filter((isbn) => toIsbn13(isbn) !== isbn)).toEqual([]);
});

test('an ISBN-13 of prefix 978 and its ISBN-10 are one book', () => {
  fc.assert(
    fc.property(fc.nat(), (hash) => {
      const isbn13 = isbnFromHash(hash);
      expect(toIsbn13(toIsbn10(isbn13) ?? '')).toBe(isbn13);
    }),
  );
});

test.each([
  ['9780792712305', '9780792712305'],
  ['978-0-7927-1230-5', '9780792712305'],
  ['0792712307', '9780792712305'],
  ['080442957X', '9780804429573'],
  ['080442957x', '9780804429573'],
  ['9791090636071', '9791090636071'],
  ['9780792712304', undefined],
  ['0792712308', undefined],
  ['9770792712305', undefined],
  ['12', undefined],
  ['', undefined],
])('%j is %j', (text, isbn13) => {
  expect(toIsbn13(text)).toBe(isbn13);
});

test('an ISBN of prefix 979 has no ISBN-10', () => {
  expect(toIsbn10('9791090636071')).toBeUndefined();
});

test('types vary from record to record as they do in the field', () => {
  const records = Array.from({ length: 200 }, (_, index) => bookRecord({ isbn13: sampleIsbn(index), seed: 1 }));
  const kinds = (field: string): string[] =>
    [...new Set(records.map((record) => (Array.isArray(record[field]) ? 'array' : typeof record[field])))].toSorted();
  expect(kinds('date_published')).toEqual(['number', 'string', 'undefined']);
  expect(kinds('msrp')).toEqual(['number', 'string']);
  expect(kinds('pages')).toEqual(['array', 'number']);
  expect(kinds('subjects')).toEqual(['array', 'undefined']);
  expect(records.some((record) => record['edition'] === '' && record['title_long'] === '')).toBe(true);
});

test('an author’s books are the same each time, and some have an ISBN-10 alone', () => {
  const books = authorBooks({ name: 'Edith Grey', seed: 1 });
  expect(authorBooks({ name: 'Edith Grey', seed: 1 })).toEqual(books);
  expect(books.length).toBeGreaterThan(2);
  const all = Array.from({ length: 20 }, (_, index) => authorBooks({ name: `Author ${index}`, seed: 1 })).flat();
  expect(all.some((book) => !('isbn13' in book) && /^\d{9}[\dX]$/u.test(String(book['isbn'])))).toBe(true);
});
