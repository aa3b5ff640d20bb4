import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { redaction } from './redaction.ts';

const TOKEN = 'AAAA/SECRET/TOKEN+x==';

describe('redaction', () => {
  const redact = redaction([`Bearer ${TOKEN}`]);

  test.each([
    `nothing for ${TOKEN}`,
    `nothing for ${TOKEN.slice(0, -2)}`,
    `nothing for ${TOKEN.slice(0, 12)}`,
    `nothing for ${TOKEN.slice(5)}`,
    `nothing for ${encodeURIComponent(TOKEN)}`,
    `nothing for ${TOKEN.toLowerCase()}`,
    `nothing for ${Buffer.from(TOKEN).toString('base64')}`,
    `nothing for ${Buffer.from(`Bearer ${TOKEN}`).toString('base64')}`,
    `nothing for AAAA/SEC\u0007RET/TOKEN`,
  ])('removes only the word from %j', (text) => {
    expect(redact(text)).toMatch(/^nothing for \*\*\*[^a-z]*$/);
  });

  test('leaves words alone', () => {
    const words =
      'the bearer of this is not authorized: Ünïcode \u{1f600}, 100 %, a&b, C:\\temp, 9f86d081884c7d659a2feaa0c55ad015, c29tZXRoaW5nIGVsc2U=';
    expect(redact(words)).toBe(words);
    expect(redact(`nothing for Bearer ${TOKEN} here`)).toBe('nothing for Bearer *** here');
  });

  test('removes every part of an OAuth header that is not the same for all, or new each time', () => {
    const signed = redaction([
      'OAuth oauth_consumer_key="consumer-key", oauth_timestamp="1700000000", oauth_token="%D1%82%D0%B0%D0%B9%D0%BD%D0%B0", oauth_signature="abc%2Bdef%3D"',
    ]);
    expect(signed('bad signature abc+def= of consumer-key for тайна at 1700000000')).toBe(
      'bad signature *** of *** for тайна at 1700000000',
    );
    expect(redaction(['OAuth oauth_token="%D1%82%D0%B0%D0%B9%D0%BD%D0%B0%D0%B9%D0%BD%D0%B0"'])('no тайнайна')).toBe('no ***');
  });

  test('cuts endless text', () => {
    expect(redact('no! '.repeat(5_000_000))).toHaveLength(1_001);
  });
});

/** A way to spell a text. `read`: returns everything that a reader who knows the spelling finds in a text. */
interface Spelling {
  readonly name: string;
  readonly spell: (text: string) => string;
  readonly read: (text: string) => string;
}

const bytes = (text: string): string[] => [...Buffer.from(text)].map((byte) => byte.toString(16).padStart(2, '0'));
const between =
  (mark: string): Spelling['spell'] =>
  (text) =>
    text.replace(/.{5}/gsu, `$&${mark}`);
const without =
  (mark: string): Spelling['read'] =>
  (text) =>
    text.replaceAll(mark, '');
const inBase64 = (text: string): string =>
  (text.match(/[\w+/-]+/g) ?? [])
    .flatMap((found) => [0, 1, 2, 3].map((start) => Buffer.from(found.slice(start), 'base64').toString('utf8')))
    .join('\n');

const SPELLINGS: readonly Spelling[] = [
  { name: 'as it is', spell: (text) => text, read: (text) => text },
  {
    name: 'percent-encoded',
    spell: encodeURIComponent,
    read: (text) => text.replace(/(?:%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString()),
  },
  {
    name: 'percent-encoded throughout',
    spell: (text) =>
      bytes(text)
        .map((hex) => `%${hex}`)
        .join(''),
    read: (text) => text.replace(/(?:%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString()),
  },
  { name: 'base64', spell: (text) => Buffer.from(text).toString('base64'), read: (text) => inBase64(text) },
  {
    name: 'base64 of a longer text',
    spell: (text) => Buffer.from(`Bearer ${text}; or so`).toString('base64url'),
    read: (text) => inBase64(text),
  },
  {
    name: 'entities',
    spell: (text) =>
      Array.from(text)
        .map((char) => `&#${char.codePointAt(0)};`)
        .join(''),
    read: (text) => text.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code))),
  },
  {
    name: 'hexadecimal entities',
    spell: (text) =>
      Array.from(text)
        .map((char) => `&#x${char.codePointAt(0)?.toString(16)};`)
        .join(''),
    read: (text) => text.replace(/&#x([\da-f]+);/g, (_, code) => String.fromCodePoint(parseInt(String(code), 16))),
  },
  {
    name: 'entities of some',
    spell: (text) => text.replaceAll('&', '&amp;').replaceAll('/', '&sol;').replaceAll('+', '&plus;'),
    read: (text) => text.replaceAll('&plus;', '+').replaceAll('&sol;', '/').replaceAll('&amp;', '&'),
  },
  {
    name: 'JSON throughout',
    spell: (text) => Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
    read: (text) => text.replace(/\\u([\da-f]{4})/g, (_, code) => String.fromCharCode(parseInt(String(code), 16))),
  },
  {
    name: 'JSON',
    spell: (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
    read: (text) => text.replace(/\\(.)/gs, '$1'),
  },
  { name: 'a control character', spell: between('\u0007'), read: without('\u0007') },
  { name: 'NUL', spell: between('\0'), read: without('\0') },
  { name: 'an escape sequence', spell: between('\u009b'), read: without('\u009b') },
  { name: 'blanks', spell: between(' '), read: without(' ') },
  { name: 'line breaks', spell: between('\r\n'), read: without('\r\n') },
  { name: 'a space without width', spell: between('\u200b'), read: without('\u200b') },
  { name: 'upper case', spell: (text) => text.toUpperCase(), read: (text) => text },
  { name: 'the first half', spell: (text) => text.slice(0, Math.ceil(text.length / 2)), read: (text) => text },
  { name: 'the last half', spell: (text) => text.slice(text.length >> 1), read: (text) => text },
];

describe('whatever a service makes of the header', () => {
  const letter = fc.constantFrom(...Array.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/'));
  const secret = fc.array(letter, { minLength: 8, maxLength: 60 }).map((letters) => letters.join(''));
  const spellings = fc.array(fc.constantFrom(...SPELLINGS), { minLength: 1, maxLength: 3 });
  const words = fc.constantFrom('', 'Invalid token: ', 'x', 'no such thing as "', 'a%20b ', 'ÄÖÜ ', '{"error":"');

  test.each(SPELLINGS)('$name: no more than 7 characters of it come out', ({ spell, read }) => {
    const redact = redaction(['Bearer tok-SeCr3t/B3arer+12345==']);
    expect(pieceIn(read(redact(`Invalid token: ${spell('tok-SeCr3t/B3arer+12345==')}`)), 'tok-SeCr3t/B3arer+12345==')).toBeUndefined();
  });

  test('no more than 7 characters of it can be made out', () => {
    fc.assert(
      fc.property(secret, spellings, words, words, fc.boolean(), (hidden, ways, before, after, around) => {
        const spell = (text: string): string => ways.reduce((spelled, way) => way.spell(spelled), text);
        const said = around ? spell(before + hidden + after) : before + spell(hidden) + after;
        let made = redaction([`Bearer ${hidden}`])(said);
        expect(pieceIn(made, hidden)).toBeUndefined();
        for (const { read } of ways.toReversed()) {
          made = read(made);
          expect(pieceIn(made, hidden)).toBeUndefined();
        }
      }),
      { numRuns: 3_000 },
    );
  });

  test('words of other things stay', () => {
    const text = fc.array(
      fc.constantFrom('page', 'user', '@alpha', 'limit', '100 %', 'https://a.example/b?c=d&e=f', '2026-01-01T00:00:00Z', 'no such user'),
    );
    fc.assert(
      fc.property(secret, text, (hidden, parts) => {
        const said = parts.join(' ');
        expect(redaction([`Bearer ${hidden}`])(said)).toBe(said);
      }),
    );
  });
});

function pieceIn(text: string, secret: string): string | undefined {
  const told = text.toLowerCase();
  return Array.from({ length: secret.length - 7 }, (_, i) => secret.slice(i, i + 8).toLowerCase()).find((piece) => told.includes(piece));
}
