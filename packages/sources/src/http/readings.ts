/** A text with more readings than this may hide a secret on purpose, so it counts as unreadable. */
const MOST_READINGS = 500;
const SHORTEST_READING = 6;

/**
 * Returns the readings of a text, including the text itself: without white space and invisible characters, and with encoded parts decoded, in
 * any order and as often as possible. Undefined if there are too many.
 */
export function readings(text: string): ReadonlySet<string> | undefined {
  const found = new Set([text]);
  // The loop over a set also visits entries that are added during it.
  for (const reading of found) {
    for (const read of READERS) {
      for (const more of read(reading)) if (more.length >= SHORTEST_READING) found.add(more);
    }
    if (found.size > MOST_READINGS) return undefined;
  }
  return found;
}

/** Each reader undoes one encoding. A reader for two encodings at once would damage text that needs another order. */
const READERS: readonly ((text: string) => readonly string[])[] = [
  // Removes control characters and combining marks.
  (text) => [text.replace(/(?!\s)[\p{C}\p{M}]/gu, '')],
  (text) => [text.replace(/\s+/gu, '')],
  (text) => [text.replace(/(?:%[\da-f]{2})+/gi, octets)],
  (text) => [text.replace(JSON_ESCAPE, (_, braced, four, two, char) => character(braced ?? four ?? two, 16) ?? plainEscape(String(char)))],
  (text) => [
    text.replace(ENTITY, (_, hex, decimal, name) => character(hex, 16) ?? character(decimal, 10) ?? NAMED.get(String(name)) ?? ''),
  ],
  (text) => {
    const runs = text.match(/[\w+/-]{8,}/g) ?? [];
    // Tries four starts, because the base64 text may be attached to the previous word.
    return runs.flatMap((run) => [0, 1, 2, 3].flatMap((start) => textsIn(Buffer.from(run.slice(start), 'base64'))));
  },
];

const JSON_ESCAPE = /\\(?:u\{([\da-f]{1,6})\}|u([\da-f]{4})|x([\da-f]{2})|(.))/gisu;
const ENTITY = /&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w{2,31}));?/gi;

/** HTML's names of characters that occur in tokens, or that other encodings use. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['bsol', '\\'],
  ['colon', ':'],
  ['dash', '-'],
  ['equals', '='],
  ['hyphen', '-'],
  ['lowbar', '_'],
  ['minus', '-'],
  ['percnt', '%'],
  ['period', '.'],
  ['plus', '+'],
  ['sol', '/'],
]);

function octets(run: string): string {
  return Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8');
}

function character(digits: string | undefined, base: number): string | undefined {
  if (digits === undefined) return undefined;
  const code = parseInt(digits, base);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : '';
}

function plainEscape(char: string): string {
  return /[bfnrt]/.test(char) ? ' ' : char;
}

function textsIn(bytes: Buffer): string[] {
  return bytes.toString('utf8').split(/\uFFFD+/u);
}
