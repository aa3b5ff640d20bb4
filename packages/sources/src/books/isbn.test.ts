import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toIsbn13 } from './isbn.ts';

test.each([
  ['an ISBN-13', '9780306406157', '9780306406157'],
  ['hyphens and spaces', ' 978-0-306 40615-7 ', '9780306406157'],
  ['dashes of typesetters', '978–0–306–40615–7', '9780306406157'],
  ['an ISBN-10', '0-306-40615-2', '9780306406157'],
  ['X as check digit', '080442957X', '9780804429573'],
  ['x in lower case', '080442957x', '9780804429573'],
  ['979', '9791032300824', '9791032300824'],
  ['a registration group nobody has yet', '9799999999990', '9799999999990'],
])('reads %s', (_, text, isbn) => {
  expect(toIsbn13(text)).toBe(isbn);
});

test.each([
  ['nothing', ''],
  ['words', 'gentle stranger'],
  ['a wrong check digit', '9780306406158'],
  ['a wrong check digit of an ISBN-10', '0306406153'],
  ['two digits exchanged', '9780306406517'],
  ['a digit too few', '978030640615'],
  ['a digit too many', '97803064061570'],
  ['another EAN', '4006381333931'],
  ['X within', '08044X2957'],
  ['other scripts’ digits', '٩٧٨٠٣٠٦٤٠٦١٥٧'],
  ['no end of text', '9'.repeat(1_000_000)],
])('refuses %s', (_, text) => {
  expect(toIsbn13(text)).toBeUndefined();
});

test('one wrong digit is always found', () => {
  const digits = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 9, maxLength: 9 });
  fc.assert(
    fc.property(digits, fc.integer({ min: 0, max: 8 }), fc.integer({ min: 1, max: 9 }), (nine, at, by) => {
      const right =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'X'].map((check) => toIsbn13(nine.join('') + check)).find(Boolean) ?? '';
      expect(toIsbn13(right)).toBe(right);
      const wrong = `${right.slice(0, 3 + at)}${(Number(right[3 + at]) + by) % 10}${right.slice(4 + at)}`;
      expect(toIsbn13(wrong)).toBeUndefined();
    }),
  );
});
