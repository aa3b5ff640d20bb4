import { stripVTControlCharacters } from 'node:util';

/** Controls, line and paragraph separators, lone surrogates, and the marks that change the writing direction. */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/**
 * Makes external text (names, reasons) printable: one line, no terminal control characters, at most `maxLength` characters. Removes escape
 * sequences, replaces line breaks and tabs with blanks, and other unsafe characters with U+FFFD.
 */
export function safeText(text: string, maxLength = 300): string {
  // Cut first, so that a hostile megabyte isn't searched.
  const stripped = stripVTControlCharacters(text.slice(0, maxLength * 4)).replace(/[\t\n\r\u2028\u2029]+/g, ' ');
  return cut(stripped.replace(unsafe, '\uFFFD'), maxLength);
}

function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const head = text.slice(0, maxLength - 1);
  // A cut in the middle of a surrogate pair would leave half a character.
  return `${head.replace(/[\uD800-\uDBFF]$/, '')}…`;
}
