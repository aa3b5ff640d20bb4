/**
 * The 13 digits of an ISBN-10 or ISBN-13 with a right check digit; undefined for anything else.
 *
 * Hyphens, dashes and spaces may stand anywhere. Registration groups aren't looked at: new ones are assigned all the time, and a
 * table of them would refuse books that exist.
 */
export function toIsbn13(text: string): string | undefined {
  if (text.length > LONGEST) return undefined;
  const plain = text.replaceAll(/[\s\u00AD\u2010-\u2015\u2212-]/gu, '').toUpperCase();
  if (/^97[89]\d{10}$/.test(plain)) return plain.endsWith(checkDigit13(plain.slice(0, 12))) ? plain : undefined;
  if (/^\d{9}[\dX]$/.test(plain) && plain.endsWith(checkDigit10(plain.slice(0, 9)))) {
    const stem = `978${plain.slice(0, 9)}`;
    return stem + checkDigit13(stem);
  }
  return undefined;
}

/** 13 digits with a separator around each are shorter. */
const LONGEST = 64;

/** ISO 2108: weights 1 and 3 in turn, modulo 10. */
function checkDigit13(stem: string): string {
  let sum = 0;
  for (let i = 0; i < 12; i += 1) sum += Number(stem[i]) * (i % 2 === 0 ? 1 : 3);
  return String((10 - (sum % 10)) % 10);
}

/** ISO 2108:1992: weights 10 to 2, modulo 11, ten written as X. */
function checkDigit10(stem: string): string {
  let sum = 0;
  for (let i = 0; i < 9; i += 1) sum += Number(stem[i]) * (10 - i);
  const check = (11 - (sum % 11)) % 11;
  return check === 10 ? 'X' : String(check);
}
