import fc from 'fast-check';
import { expect, test } from 'vitest';
import { batchEntry, toRequest } from './query.ts';

const headers = { accept: 'application/json', 'content-type': 'application/json' };

test('a book is requested by its 13 digits', () => {
  const query = { kind: 'book', isbn: { requested: '0-306-40615-2', isbn: '9780306406157' } } as const;
  expect(toRequest(query)).toEqual({ method: 'GET', path: '/book/9780306406157', headers });
});

test('a batch is form-style text under a JSON content type, each ISBN once, malformed ones left out', () => {
  const entries = ['9780306406157', '080442957X', 'nonsense', '0306406152'].map(batchEntry);
  expect(toRequest({ kind: 'batch', entries })).toEqual({
    method: 'POST',
    path: '/books',
    headers,
    body: 'isbns=9780306406157,9780804429573',
  });
});

test('an author’s page and its size are sent when they are requested', () => {
  expect(toRequest({ kind: 'author', name: 'Ada Brook' })).toEqual({ method: 'GET', path: '/author/Ada%20Brook', query: {}, headers });
  expect(toRequest({ kind: 'author', name: 'Ada Brook', page: 2, pageSize: 1000 }).query).toEqual({ page: '2', pageSize: '1000' });
});

test('whatever is in a name stays in one path segment and comes back when that is decoded', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant("a/b?c&d#e é%2F+;'()*!")), (name) => {
      const { path } = toRequest({ kind: 'author', name });
      const segment = path.slice('/author/'.length);
      expect(segment).toMatch(/^(?:[A-Za-z0-9_.~-]|%[0-9A-F]{2})*$/);
      expect(decodeURIComponent(segment)).toBe(name);
    }),
  );
});
