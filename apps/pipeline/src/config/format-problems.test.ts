import { expect, test } from 'vitest';
import { formatProblems } from './format-problems.ts';

test('problems and warnings are in columns, in the order of the file', () => {
  const report = formatProblems(
    'headgate.yaml',
    [
      { line: 18, column: 5, key: 'books.plann', message: 'unknown key. Did you mean plan?' },
      { line: 12, column: 14, key: 'followers.limit.window', message: '"15 min" isn\'t a duration. Write 15m, 900s or 900000ms.' },
    ],
    [{ line: 18, column: 1, key: 'books.key', message: 'a secret in plain text.' }],
  );
  expect(report).toBe(`headgate.yaml
  12:14  followers.limit.window   "15 min" isn't a duration. Write 15m, 900s or 900000ms.
  18:1   books.key                warning: a secret in plain text.
  18:5   books.plann              unknown key. Did you mean plan?
`);
});

test('problems without a key have no key column', () => {
  const problems = [{ line: 1, column: 1, key: '', message: 'the file is empty.' }];
  expect(formatProblems('a.yaml', problems)).toBe('a.yaml\n  1:1  the file is empty.\n');
});

test('messages can be lined up with another table', () => {
  const problems = [{ line: 1, column: 1, key: 'books', message: 'here.' }];
  expect(formatProblems('a.yaml', problems, [], 20)).toBe('a.yaml\n  1:1  books        here.\n');
});
