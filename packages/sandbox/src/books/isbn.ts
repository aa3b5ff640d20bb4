import { mix32 } from '../seeded-random.ts';

/** Returns the ISBN-13 of a valid ISBN-10 or ISBN-13, without hyphens and spaces; undefined for anything else. */
export function toIsbn13(text: string): string | undefined {
  const compact = text.replaceAll(/[-\s]/gu, '').toUpperCase();
  if (/^97[89]\d{10}$/u.test(compact)) return checkDigit13(compact.slice(0, 12)) === compact[12] ? compact : undefined;
  if (!/^\d{9}[\dX]$/u.test(compact) || checkDigit10(compact.slice(0, 9)) !== compact[9]) return undefined;
  const body = `978${compact.slice(0, 9)}`;
  return body + checkDigit13(body);
}

/** Returns the ISBN-10 of a valid ISBN-13; undefined if there is none (prefix 979). */
export function toIsbn10(isbn13: string): string | undefined {
  if (!isbn13.startsWith('978')) return undefined;
  const body = isbn13.slice(3, 12);
  return body + checkDigit10(body);
}

/** Returns a valid, distinct ISBN-13 for each number from 0 to 999,999,999. */
export function sampleIsbn(index: number): string {
  // 100,000,007 is coprime to 10^9, so the multiples don't repeat before all numbers have been used.
  const body = `978${String((BigInt(index) * 100_000_007n + 62_000_000n) % 1_000_000_000n).padStart(9, '0')}`;
  return body + checkDigit13(body);
}

export function isbnFromHash(hash: number): string {
  return sampleIsbn(mix32(hash) % 1_000_000_000);
}

function checkDigit13(body: string): string {
  const sum = Array.from(body, Number).reduce((total, digit, index) => total + digit * (index % 2 === 0 ? 1 : 3), 0);
  return String((10 - (sum % 10)) % 10);
}

function checkDigit10(body: string): string {
  const sum = Array.from(body, Number).reduce((total, digit, index) => total + digit * (10 - index), 0);
  const check = (11 - (sum % 11)) % 11;
  return check === 10 ? 'X' : String(check);
}
