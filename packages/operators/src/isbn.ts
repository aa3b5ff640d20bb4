import { invalidIsbn } from './operator-error.ts';

/**
 * Returns the 13 digits of an ISBN-13 or ISBN-10, which can have hyphens and spaces anywhere.
 *
 * It checks the length, the prefix and the check digit (ISBN Users' Manual, 7th edition, sections 4 and 5). It doesn't check the group or the
 * publisher, because new ranges are assigned all the time.
 *
 * @param text such as `0-8044-2957-X` or `978 0 306 40615 7`
 * @throws {@link OperatorError} that says what is wrong with the text.
 */
export function normalizeIsbn(text: string): string {
  const characters = charactersOf(text);
  const flaw = flawOf(characters);
  if (flaw !== undefined) throw invalidIsbn(text, flaw);
  return withThirteen(characters);
}

/** Like {@link normalizeIsbn}, but returns `undefined` for a value that isn't an ISBN. */
export function toIsbn13(text: string): string | undefined {
  const characters = charactersOf(text);
  return flawOf(characters) === undefined ? withThirteen(characters) : undefined;
}

/** Returns true if {@link normalizeIsbn} accepts the text. */
export function isIsbn(text: string): boolean {
  return toIsbn13(text) !== undefined;
}

/**
 * Returns the ISBN-10 of an ISBN, without hyphens. Returns `undefined` for the prefix 979, which has no ISBN-10.
 *
 * @param isbn an ISBN in any form that {@link normalizeIsbn} accepts
 * @throws {@link OperatorError} when the value isn't an ISBN.
 */
export function toIsbn10(isbn: string): string | undefined {
  const isbn13 = normalizeIsbn(isbn);
  return isbn13.startsWith('978') ? withCheckDigit10(isbn13.slice(3, 12)) : undefined;
}

/** White space, hyphens, and the dashes and invisible characters that typesetting and copying put in place of a hyphen or a space. */
const SEPARATORS = /[\s\u00ad\u200b\u2010-\u2015\u2212\ufe63\uff0d-]/gu;

function charactersOf(text: string): string {
  // Plain JavaScript can pass a number. It is read as empty text, which isn't an ISBN.
  return typeof text === 'string' ? text.replaceAll(SEPARATORS, '').toUpperCase() : '';
}

function withThirteen(characters: string): string {
  return characters.length === 13 ? characters : withCheckDigit13(`978${characters.slice(0, 9)}`);
}

function flawOf(characters: string): string | undefined {
  if (characters.length === 10) return flawOf10(characters);
  if (characters.length === 13) return flawOf13(characters);
  return characters === '' ? 'it is empty' : `it has ${characters.length} characters besides hyphens and spaces, not 10 or 13`;
}

function flawOf10(characters: string): string | undefined {
  if (!/^[0-9]{9}[0-9X]$/.test(characters)) return 'an ISBN-10 is 9 digits and a last digit or X';
  return wrongCheckDigit(characters, withCheckDigit10(characters.slice(0, 9)));
}

function flawOf13(characters: string): string | undefined {
  if (!/^[0-9]{13}$/.test(characters)) return 'an ISBN-13 contains only digits';
  if (!/^97[89]/.test(characters)) return `an ISBN-13 begins with 978 or 979, not ${characters.slice(0, 3)}`;
  return wrongCheckDigit(characters, withCheckDigit13(characters.slice(0, 12)));
}

function wrongCheckDigit(characters: string, right: string): string | undefined {
  return characters === right
    ? undefined
    : `its last digit is ${characters.at(-1)} and should be ${right.at(-1)}, so one of its digits is wrong`;
}

function withCheckDigit10(nine: string): string {
  const sum = weighted(nine, (index) => 10 - index);
  const check = (11 - (sum % 11)) % 11;
  return `${nine}${check === 10 ? 'X' : check}`;
}

function withCheckDigit13(twelve: string): string {
  const sum = weighted(twelve, (index) => (index % 2 === 0 ? 1 : 3));
  return `${twelve}${(10 - (sum % 10)) % 10}`;
}

function weighted(digits: string, weight: (index: number) => number): number {
  return Array.from(digits).reduce((sum, digit, index) => sum + Number(digit) * weight(index), 0);
}
