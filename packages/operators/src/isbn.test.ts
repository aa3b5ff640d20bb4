import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OperatorError } from './operator-error.ts';
import { isIsbn, normalizeIsbn, toIsbn10, toIsbn13 } from './isbn.ts';

describe('an ISBN', () => {
  test.each([
    ['0306406152', '9780306406157'],
    ['978-0-306-40615-7', '9780306406157'],
    ['  978 0 306 40615 7 ', '9780306406157'],
    ['0-8044-2957-X', '9780804429573'],
    ['080442957x', '9780804429573'],
    ['978\u200b0\uff0d306406157', '9780306406157'],
    ['978\u20110\u2013306\u00a040615\u2010\u00ad7', '9780306406157'],
    ['9791091146135', '9791091146135'],
    ['9780792712305', '9780792712305'],
  ])('%j is %s', (text, isbn13) => {
    expect(normalizeIsbn(text)).toBe(isbn13);
    expect(toIsbn13(text)).toBe(isbn13);
    expect(isIsbn(text)).toBe(true);
  });

  test.each([
    ['in a group that nobody has', '9789999999991'],
    ['of a publisher range that nobody has', '9786500000009'],
    ['as an ISBN-10 in a group that nobody has', '9999999999'],
    ['in a group of prefix 979 that nobody has', '9799999999990'],
  ])('%s is an ISBN all the same', (_, text) => {
    expect(isIsbn(text)).toBe(true);
  });

  test('has an ISBN-10 if its prefix is 978', () => {
    expect(toIsbn10('978-0-8044-2957-3')).toBe('080442957X');
    expect(toIsbn10('9791091146135')).toBeUndefined();
  });
});

describe('no ISBN', () => {
  test.each([
    ['', 'it is empty'],
    [' - ', 'it is empty'],
    ['978030640615', 'it has 12 characters besides hyphens and spaces, not 10 or 13'],
    ['97803064061577', 'it has 14 characters besides hyphens and spaces, not 10 or 13'],
    ['9780306406158', 'its last digit is 8 and should be 7, so one of its digits is wrong'],
    ['0306406151', 'its last digit is 1 and should be 2, so one of its digits is wrong'],
    ['0-8044-2957-1', 'its last digit is 1 and should be X, so one of its digits is wrong'],
    ['X306406152', 'an ISBN-10 is 9 digits and a last digit or X'],
    ['978030640615X', 'an ISBN-13 contains only digits'],
    ['4006381333931', 'an ISBN-13 begins with 978 or 979, not 400'],
    ['4009783333936', 'an ISBN-13 begins with 978 or 979, not 400'],
    ['gentle stranger', 'it has 14 characters besides hyphens and spaces, not 10 or 13'],
    ['9780306406517', 'its last digit is 7 and should be 5, so one of its digits is wrong'],
    ['08044X2957', 'an ISBN-10 is 9 digits and a last digit or X'],
    ['٠٣٠٦٤٠٦١٥٢', 'an ISBN-10 is 9 digits and a last digit or X'],
  ])('%j: %s', (text, reason) => {
    expect(isIsbn(text)).toBe(false);
    expect(toIsbn13(text)).toBeUndefined();
    expect(() => normalizeIsbn(text)).toThrow(`${JSON.stringify(text)} isn't an ISBN: ${reason}.`);
    expect(() => toIsbn10(text)).toThrow(OperatorError);
  });

  test('is quoted on one line and in short', () => {
    expect(() => normalizeIsbn(`\n${'9'.repeat(1_000_000)}`)).toThrow(
      `"\\n${'9'.repeat(39)}…" isn't an ISBN: it has 1000000 characters besides hyphens and spaces, not 10 or 13.`,
    );
  });

  test.each<[string, unknown]>([
    ['the number 9780306406157', 9780306406157],
    ['the bigint 9780306406157', 9780306406157n],
    ['a value of type object', { isbn: '9780306406157' }],
    ['a value of type undefined', undefined],
  ])('is not text: %s', (shown, value) => {
    const isbn = value as string;
    expect(isIsbn(isbn)).toBe(false);
    expect(toIsbn13(isbn)).toBeUndefined();
    for (const refusing of [normalizeIsbn, toIsbn10]) {
      expect(() => refusing(isbn)).toThrow(
        expect.objectContaining({
          code: 'HEADGATE_INVALID_ISBN',
          message: `An ISBN must be text, such as "9780306406157", not ${shown}: numbers lose leading zeros.`,
        }),
      );
    }
  });

  test('names its code', () => {
    const invalid = expect(() => normalizeIsbn(''));
    invalid.toThrow(expect.objectContaining({ code: 'HEADGATE_INVALID_ISBN', retryable: false, name: 'OperatorError' }));
    invalid.toThrow(expect.objectContaining({ reason: "isn't an ISBN: it is empty" }));
  });
});

describe('the laws', () => {
  const digits = (length: number): fc.Arbitrary<string> =>
    fc.string({ unit: fc.constantFrom(...'0123456789'.split('')), minLength: length, maxLength: length });

  /** Appends the check digit, by its definition: the last character that makes the weighted sum a multiple of the modulus. */
  const completed = (body: string, modulus: number, weights: (index: number) => number): string => {
    const last = [...'0123456789X'.split('').entries()].find(([value]) => {
      const values = [...body.split('').map(Number), value];
      return values.reduce((sum, one, index) => sum + one * weights(index), 0) % modulus === 0;
    });
    return `${body}${last?.[1]}`;
  };
  const isbn10 = digits(9).map((body) => completed(body, 11, (index) => 10 - index));
  const isbn13 = fc
    .tuple(fc.constantFrom('978', '979'), digits(9))
    .map(([prefix, body]) => completed(prefix + body, 10, (index) => (index % 2 ? 3 : 1)));

  test('every ISBN-13 with a right check digit is itself, with separators anywhere', () => {
    fc.assert(
      fc.property(isbn13, fc.array(fc.tuple(fc.nat(13), fc.constantFrom('-', ' ', '\u2013'))), (isbn, separators) => {
        const text = separators.reduce((one, [at, separator]) => one.slice(0, at) + separator + one.slice(at), isbn);
        expect(normalizeIsbn(text)).toBe(isbn);
      }),
    );
  });

  test('an ISBN-10 comes back from its ISBN-13', () => {
    fc.assert(
      fc.property(isbn10, (isbn) => {
        expect(toIsbn10(normalizeIsbn(isbn))).toBe(isbn);
        expect(normalizeIsbn(isbn.toLowerCase())).toBe(normalizeIsbn(isbn));
      }),
    );
  });

  test('one wrong digit is always found', () => {
    fc.assert(
      fc.property(fc.oneof(isbn10, isbn13), fc.nat(12), fc.integer({ min: 1, max: 9 }), (isbn, at, by) => {
        const digit = isbn[at] ?? 'X';
        fc.pre(digit !== 'X');
        expect(isIsbn(`${isbn.slice(0, at)}${(Number(digit) + by) % 10}${isbn.slice(at + 1)}`)).toBe(false);
      }),
    );
  });
});
