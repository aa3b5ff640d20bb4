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
  [
    'in ASCII instead of letters with strokes and ligatures',
    'Łukasz Strauß-Øre Đorđe Æther Œuvre',
    'Lukasz Strauss-Ore Dorde AEther OEuvre',
  ],
  ['in capitals that have no single letter', 'STRAUẞ IŞIK', 'strauß ışık'],
  ['with thorn, eth and the Maltese and Sami letters', 'Þórður Ħal Ŧuŋ', 'Thordur Hal Tun'],
  ['with other apostrophes', 'Flann O’Brien and Saʿīd', "Flann OBrien and Sa'id"],
  ['the last name first', 'Mark Twain', 'Twain, Mark'],
  ['the last name first, encoded', 'Charlotte Vale Allen', 'Allen%2C%20Charlotte%20Vale'],
  ['requested the last name first, with a suffix', 'King, Martin Luther, Jr.', 'Martin Luther King Jr'],
  ['the last name first, without a comma', 'Charlotte Vale Allen', 'Allen Charlotte Vale'],
  ['in another script', '村上春樹', '%E6%9D%91%E4%B8%8A%E6%98%A5%E6%A8%B9'],
])('the same: %s', (_, requested, echoed) => {
  expect(sameAuthor(requested, echoed)).toBe(true);
});

test.each([
  ['Ada Brook', 'Bruno Brook'],
  ['Ada Brook', ''],
  ['Mark Twain', 'Twain, Shania'],
  ['Mark Twain', 'Mark'],
  ['Ada Brook', 'Brook, Ad A.'],
  ['村上春樹', '村上龍'],
])('another: %s, %s', (requested, echoed) => {
  expect(sameAuthor(requested, echoed)).toBe(false);
});
