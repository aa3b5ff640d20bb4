import { expect, test } from 'vitest';
import { booksOptions } from '../pipelines/options-of.fixture.ts';
import { BOOKS, ENV, load, problemsOf } from './config-folder.fixture.ts';

test.each([
  ['plan: premum', "4:9 books.plan: isn't known. Did you mean premium?"],
  ['baseUrls: { pro: https://pro.example.com }', "2:12 books.baseUrl: can't be combined with baseUrls. Keep one of them."],
  ['maxBatch: 1001', '1:1 books.maxOutstanding: is too small for a batch of 1001 ISBNs. Write 1001 or more, or a smaller maxBatch.'],
  ['perDay: { resetsAt: "24:00" }', '4:3 books.perDay.isbns: is missing. Write 5000.'],
  ['perDay: { resetsAt: "24:00" }', '4:23 books.perDay.resetsAt: "24:00" isn\'t a time of day. Write hours and minutes, such as "00:00".'],
  ['perDay: { isbns: 1, zone: Mars }', "4:29 books.perDay.zone: isn't a time zone. Write one such as UTC or Europe/Berlin."],
  ['authors: [""]', '4:13 books.authors[0]: is empty. Write another name, or remove it.'],
  [
    'authors: [Ada, ..]',
    "4:18 books.authors[1]: is a relative path segment, which an address can't contain. Write another name, or remove it.",
  ],
  ['isbns: [{ isbn: 1 }]', '4:11 books.isbns[0]: must be text.'],
])('%s is refused', async (line, problem) => {
  expect(await problemsOf(`${BOOKS}  ${line}\n`, { env: ENV })).toEqual(expect.arrayContaining([problem]));
});

test('each plan has its own address', async () => {
  const yaml = 'books:\n  plan: pro\n  baseUrls: { default: https://books.example.com }\n  key: "${KEY}"\n';
  expect(await problemsOf(yaml, { env: ENV })).toEqual([
    '3:13 books.baseUrls: has no address for the pro plan. Add pro: https://books.example.com, or choose another plan.',
  ]);
});

test('ISBNs keep zeros and digits without quotes, malformed ones are left to the run', async () => {
  const files = { 'isbns.txt': '080442957X\n# none\n0123456789\nnot an isbn\n' };
  const { config } = await load(`${BOOKS}  isbns: [0123456789, 97807927123051234567, "x", { file: isbns.txt }]\n`, { env: ENV, files });
  expect(booksOptions(config.pipelines)?.isbns).toEqual([
    '0123456789',
    '97807927123051234567',
    'x',
    '080442957X',
    '0123456789',
    'not an isbn',
  ]);
});

test('authors are text, also from a file', async () => {
  const files = { 'authors.txt': 'C# Smith\nA & B/C? é\n' };
  const { config } = await load(`${BOOKS}  authors: [1984, { file: authors.txt }]\n`, { env: ENV, files });
  expect(booksOptions(config.pipelines)?.authors).toEqual(['1984', 'C# Smith', 'A & B/C? é']);
});

test('a text that is not an ISBN is a warning, with its line in a file', async () => {
  const files = { 'isbns.csv': 'isbn,title\n9780792712305\n9780792712306\n' };
  const { warnings } = await load(`${BOOKS}  isbns: [abc, { file: isbns.csv }]\n`, { env: ENV, files });
  expect(warnings.map(({ line, column, key, message }) => `${line}:${column} ${key}: ${message}`)).toEqual([
    "4:11 books.isbns[0]: this entry isn't an ISBN: it has 3 characters besides hyphens and spaces, not 10 or 13. A run dead-letters it.",
    expect.stringMatching(
      /^4:24 books\.isbns\[1\]\.file: line 1 of this file: this entry isn't an ISBN: .* Write one ISBN per line, without columns\.$/,
    ),
    expect.stringMatching(
      /^4:24 books\.isbns\[1\]\.file: line 3 of this file: "9780792712306" isn't an ISBN: its last digit is 6 and should be 5/,
    ),
  ]);
});
