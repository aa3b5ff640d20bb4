import { expect, test } from 'vitest';
import { BOOKS, ENV, problemsOf, refusal } from './config-folder.fixture.ts';

const INDENT = "the indentation doesn't match. Indent all keys of a mapping with the same number of spaces, and close every { and [.";
const SEPARATED = "something isn't closed or separated: look for a missing quote, comma, } or ], or for a colon without a space after it.";

test.each([
  ['duplicate keys', `${BOOKS}  key: x\n`, ['4:3 : duplicate key. Keep one.']],
  ['duplicate sections', `${BOOKS}books: {}\n`, ['4:1 : duplicate key. Keep one.']],
  ['tabs', `books:\n\tkey: x\n`, ["2:1 : a tab can't indent. Use spaces."]],
  ['a bracket without its end', `${BOOKS}  isbns: ["1"\n  authors: [x]\n`, [`5:3 : ${INDENT}`]],
  ['a quote without its end', `books:\n  key: "\${KEY}\n  authors: ["x"]\n`, [`2:15 : ${SEPARATED}`]],
  ['a quote without its end, in { }', `a: [{ name: 'x }]\nb: ['y', 'z']\n`, [`1:18 : ${SEPARATED}`, `2:1 : ${INDENT}`]],
  ['a blank that is none behind a colon', `${BOOKS}  plan:\u00a0pro\n`, [`4:3 : ${SEPARATED}`]],
  [
    'variables without braces',
    'books:\n  baseUrl: $KEY\n  key: "$OF_A_SECRET"\n  userAgent: $NOT_SET\n',
    [
      '2:12 books.baseUrl: has a $ without braces, so no variable is inserted. Write "${KEY}".',
      '3:8 books.key: has a $ without braces, so no variable is inserted. Write "${NAME}".',
    ],
  ],
  [
    'a key in another case, once',
    `books:\n  baseURL: https://b.example\n  key: "\${KEY}"\n`,
    ['2:3 books.baseURL: unknown key. Did you mean baseUrl?'],
  ],
  ['indentation', `books:\n  key: x\n plan: pro\n`, [`3:1 : ${INDENT}`]],
  ['variables without quotes in { }', 'books: { key: ${KEY} }\n', ['1:16 : inside { } and [ ] a variable needs quotes. Write "${NAME}".']],
  [
    'aliases',
    `${BOOKS}  plan: &p pro\n  userAgent: *p\n`,
    ["5:14 books.userAgent: is an alias. Aliases aren't supported here: write the value out."],
  ],
  ['tags', `${BOOKS}  plan: !x pro\n`, ['4:9 : tags aren\'t supported here. Write the value without the "!", or put it in quotes.']],
  ['two documents', `${BOOKS}---\na: 1\n`, ['4:1 : a second document starts here. Keep one, without ---.']],
])('%s', async (_name, yaml, problems) => {
  expect(await problemsOf(yaml, { env: ENV })).toEqual(problems);
});

test('a mistake in two places is reported twice, each with line and column', async () => {
  expect(await problemsOf('a: `x`\nb: "\\q"\n')).toEqual([
    '1:4 : a value that starts with this character needs quotes.',
    expect.stringMatching(/^2:\d+ : a \\ in double quotes/),
  ]);
});

test('the text around a mistake, which may be a secret, is not repeated', async () => {
  for (const yaml of [
    'key: "secret-6',
    'key: %secret-6\n',
    'key: [secret-6}\n',
    'key: *secret-6\n',
    'key: !secret-6 x\n',
    'key: |secret-6\n',
  ]) {
    expect((await refusal(yaml)).message).not.toContain('secret-6');
  }
});

test('a file nested without end is refused', async () => {
  expect((await refusal(`a: ${'['.repeat(50_000)}`)).problems.length).toBeGreaterThan(0);
});

test('__proto__ is a key like any other', async () => {
  expect(await problemsOf(`${BOOKS}__proto__: { x: 1 }\n`, { env: ENV })).toEqual([
    '4:1 __proto__: unknown key. Known keys: topics, status, followers, books. To add your own pipeline, write use: ./its-module.ts under its name.',
  ]);
  expect((await problemsOf(`${BOOKS}  __proto__: { x: 1 }\n`, { env: ENV })).join('')).toContain('4:3 books.__proto__: unknown key.');
});

test('a byte order mark and Windows line ends don’t shift positions', async () => {
  const yaml = `\uFEFF${BOOKS}  plann: pro\n`.replaceAll('\n', '\r\n');
  expect(await problemsOf(yaml, { env: ENV })).toEqual(['4:3 books.plann: unknown key. Did you mean plan?']);
});
