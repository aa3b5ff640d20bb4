import { expect, it } from 'vitest';
import { jobIdentity } from './job-identity.ts';

const identity = (request: unknown, value: unknown = request): string => jobIdentity(request, JSON.stringify(value));

it('is independent of the order of keys and of keys that the schema drops', () => {
  expect(identity({ a: { b: 1, c: [2] }, d: 3 })).toBe(identity({ d: 3, a: { c: [2], b: 1 } }));
  expect(identity({ name: 'ada' }, { name: 'ADA' })).toBe(identity({ name: 'ada' }));
});

it.each([
  [{ ids: [1, 2] }, { ids: [2, 1] }],
  [{ id: 1 }, { id: '1' }],
  [{ id: 1n }, { id: 2n }],
  [{ id: 1n }, { id: '1' }],
  [{ most: Infinity }, { most: -Infinity }],
  [{ most: Infinity }, { most: null }],
  [{ at: new Date(0) }, { at: new Date(1) }],
])('differs where the requests do, %#', (one, other) => {
  expect(jobIdentity(one, '0')).not.toBe(jobIdentity(other, '0'));
});

it('is that of its JSON if the schema returns values that JSON can’t distinguish', () => {
  const map = (key: string) => new Map([[key, 1]]);
  expect(identity(map('a'), { a: 1 })).not.toBe(identity(map('b'), { b: 1 }));
  expect(identity(map('a'), { a: 1, b: 2 })).toBe(identity(map('a'), { b: 2, a: 1 }));
});
