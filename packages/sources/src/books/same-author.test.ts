import { expect, test } from 'vitest';
import { sameAuthor } from './same-author.ts';

test.each([
  ['as it was requested', 'Ada Brook', 'Ada Brook'],
  ['percent-encoded', 'Ada / Brook? & Fils é', 'Ada%20%2F%20Brook%3F%20%26%20Fils%20%C3%A9'],
  ['encoded twice', 'Ada Brook', 'Ada%2520Brook'],
  ['encoded as a form does', 'Ada Brook', 'Ada+Brook'],
  ['in another case', 'ada brook', 'Ada Brook'],
  ['with an accent spelled in two characters', 'Chloé', 'Chloe\u0301'],
  ['punctuated otherwise', 'A.B. Brook', 'A. B. Brook'],
  ['with a bare %', '100% Ada', '100% Ada'],
  ['in another script', '村上春樹', '%E6%9D%91%E4%B8%8A%E6%98%A5%E6%A8%B9'],
])('the same: %s', (_, requested, echoed) => {
  expect(sameAuthor(requested, echoed)).toBe(true);
});

test.each([
  ['Ada Brook', 'Bruno Brook'],
  ['Ada Brook', ''],
  ['村上春樹', '村上龍'],
])('another: %s, %s', (requested, echoed) => {
  expect(sameAuthor(requested, echoed)).toBe(false);
});
