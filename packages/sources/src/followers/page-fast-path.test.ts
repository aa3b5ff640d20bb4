import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseSpelled } from '../exact-json.ts';
import { jsonBody } from '../http/json-body.ts';
import { pageFastPath } from './page-fast-path.ts';
import { type PageContent, readPage } from './page.ts';

function read(body: Buffer): PageContent | undefined {
  const json = jsonBody({ status: 200, headers: {}, body }, parseSpelled);
  if (json.kind === 'broken') return undefined;
  const page = readPage(json.value, 'next', 5_000);
  return page.kind === 'page' ? page.content : undefined;
}

/** Returns whether the fast path takes a page. If it does, both paths must read the same. */
function check(body: Buffer): 'taken' | 'left' {
  const plain = pageFastPath(body, 'next', 5_000);
  if (plain === undefined) return 'left';
  expect(plain).toEqual(read(body));
  return 'taken';
}

const wide = fc
  .oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 2n ** 53n - 5n, max: 2n ** 53n + 5n }), fc.bigInt(0n, 999n))
  .map(String);
const cursor = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const ids = fc.array(wide, { minLength: 1, maxLength: 300 });

const rest = fc.tuple(cursor, cursor, fc.boolean()).map(([next, previous, asStrings]) => {
  const numbers = `"next_cursor":${next},"previous_cursor":${previous}`;
  return `${numbers}${asStrings ? `,"next_cursor_str":"${next}","previous_cursor_str":"${previous}"` : ''},"total_count":null}`;
});

describe.each([
  ['strings', fc.constant('"')],
  ['numbers', fc.constant('')],
  ['either', fc.constantFrom('"', '')],
])('ids as %s', (_, quote) => {
  const page = fc.tuple(ids, fc.infiniteStream(quote), rest).map(([digits, quotes, end]) => {
    const spelled = digits.map((id) => {
      const mark = String(quotes.next().value);
      return `${mark}${id}${mark}`;
    });
    return { digits, body: Buffer.from(`{"ids":[${spelled.join(',')}],${end}`) };
  });

  test('are taken as they were sent', () => {
    fc.assert(
      fc.property(page, ({ digits, body }) => {
        expect(pageFastPath(body, 'next', 5_000)?.ids).toEqual(digits);
        expect(check(body)).toBe('taken');
      }),
    );
  });

  test('are read the same, or the long way, whatever byte is changed, lost or added', () => {
    const telling = fc.constantFrom(...Buffer.from('"\\,:[]{}-+.eE0189 \t\n/;aids\ufeff\u00e9'));
    const spot = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), fc.nat(60), fc.integer({ min: -160, max: -1 }));
    const change = fc.tuple(spot, fc.constantFrom('put', 'add', 'drop', 'cut'), fc.oneof(telling, fc.nat(255)));
    fc.assert(
      fc.property(page, fc.array(change, { minLength: 1, maxLength: 3 }), ({ body }, changes) => {
        let bytes = [...body];
        for (const [where, what, byte] of changes) {
          const share = where > 0 && where < 1;
          const at = Math.min(
            bytes.length - 1,
            share ? Math.floor(where * bytes.length) : where < 0 ? Math.max(0, bytes.length + where) : where,
          );
          if (what === 'cut') bytes = bytes.slice(0, Math.max(1, at));
          else if (what === 'drop') bytes.splice(at, 1);
          else bytes.splice(at, what === 'put' ? 1 : 0, byte);
        }
        const long = read(Buffer.from(bytes));
        expect(pageFastPath(Buffer.from(bytes), 'next', 5_000) ?? long).toEqual(long);
      }),
      { numRuns: 3_000 },
    );
  });
});

const END = '"next_cursor":0}';

test.each([
  `{"ids":["1","18446744073709551615"],${END}`,
  `{"ids":["0","00","007","00000000000000000001"],${END}`,
  `{"ids":[0,9007199254740993,18446744073709551615],${END}`,
  `{"ids":["1"],"next_cursor":0,"next_cursor":8882581338626179201}`,
  `{"ids":["1"],"__proto__":{"ids":["2"]},${END}`,
  `{"ids":["1"], "next_cursor" : 0 }\n`,
  `{"ids":[1],"next_cursor":0.5,"next_cursor_str":"0","previous_cursor":-0.0002,"previous_cursor_str":"-2"}`,
])('%s is taken', (text) => {
  expect(check(Buffer.from(text))).toBe('taken');
});

test.each([
  '',
  '{',
  '{"ids":[',
  '{"ids":["1',
  '{"ids":["1"]',
  '{"ids":["1"],',
  '{"ids":["1"]}',
  '{"ids":["1"],}',
  `{"ids":[],${END}`,
  `{"ids":["1",],${END}`,
  `{"ids":[,"1"],${END}`,
  `{"ids":["1""2"],${END}`,
  `{"ids":[1"],${END}`,
  `{"ids":["1],${END}`,
  `{"ids":[""],${END}`,
  `{"ids":["1","\\u0031"],${END}`,
  `{"ids":["1","1,2"],${END}`,
  `{"ids":[01],${END}`,
  `{"ids":[-0],${END}`,
  `{"ids":[1.0],${END}`,
  `{"ids":[1e2],${END}`,
  `{"ids":["-1"],${END}`,
  `{"ids":[ "1"],${END}`,
  `{"ids":["18446744073709551616"],${END}`,
  `{"ids":[18446744073709551616],${END}`,
  `{"ids":["000000000000000000001"],${END}`,
  `{"ids":["1"],"ids":["2"],${END}`,
  `{"ids":["1"],"\\u0069ds":[],${END}`,
  `{"ids":["1"],"next_cursor":1.5}`,
  `{"ids":["1"],"next_cursor":"onward"}`,
  `{"ids":["1"],"next_cursor":0,"name":"é"}`,
  `{"ids":["1"]\ufeff,${END}`,
  `{"ids":["1"];${END}`,
  `{"ids":["1"],,${END}`,
  `\ufeff{"ids":["1"],${END}`,
  `{"ids":["1"],${END}}`,
])('%s is left to the long way', (text) => {
  expect(check(Buffer.from(text))).toBe('left');
});

test('a body that lies within another buffer is read from its own place', () => {
  const text = `{"ids":["12345678901","22345678902"],${END}`;
  const body = Buffer.from(`xyz${text}"9999`).subarray(3, 3 + text.length);
  expect(pageFastPath(body, 'next', 5_000)?.ids).toEqual(['12345678901', '22345678902']);
});

test('a page with more than twice the requested ids is left', () => {
  const ids = (n: number): string => Array.from({ length: n }, (_, i) => `"${i}"`).join(',');
  expect(pageFastPath(Buffer.from(`{"ids":[${ids(4)}],${END}`), 'next', 2)?.ids).toEqual(['0', '1', '2', '3']);
  expect(pageFastPath(Buffer.from(`{"ids":[${ids(5)}],${END}`), 'next', 2)).toBeUndefined();
});

test('ids of every length, over the edges of what is decoded at once', () => {
  const digits = Array.from({ length: 5_000 }, (_, i) => '12345678901234567890'.slice(0, 1 + (i % 20)));
  const body = Buffer.from(`{"ids":[${digits.map((id) => `"${id}"`).join(',')}],${END}`);
  expect(pageFastPath(body, 'next', 5_000)?.ids).toEqual(digits);
});
