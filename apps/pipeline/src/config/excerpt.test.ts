import { expect, test } from 'vitest';
import { BOOKS, ENV, refusal } from './config-folder.fixture.ts';
import { withExcerpts } from './excerpt.ts';

async function excerpts(yaml: string): Promise<readonly unknown[]> {
  return (await refusal(yaml, { env: ENV })).problems.map(({ excerpt }) => excerpt);
}

test('a problem is shown with its line and a marker under the value', async () => {
  expect(await excerpts(`${BOOKS}  plan: pros\n  maxBatchh: 5\n`)).toEqual([
    ['  plan: pros', '        ^^^^'],
    ['  maxBatchh: ·', '  ^^^^^^^^^'],
  ]);
});

test('secrets, addresses and anything that may be one appear as dots', async () => {
  expect(await excerpts('books:\n  { key: "s3cret", key2: s3cret, baseUrl: "nowhere.e", plan: pros } # s3cret\n')).toEqual([
    ['  { key: "······", key2: ······, baseUrl: "·········", plan: pros }', expect.stringMatching(/^ {19}\^{4}$/)],
    ['  { key: "······", key2: ······, baseUrl: "·········", plan: pros }', expect.stringMatching(/^ {42}\^{11}$/)],
    ['  { key: "······", key2: ······, baseUrl: "·········", plan: pros }', expect.stringMatching(/^ {61}\^{4}$/)],
  ]);
  // If a file can't be parsed, all of its values are hidden.
  expect(await excerpts('books: { plan: pro, key: "s3cret }\n')).toEqual([['books: { plan: ···, key: "······ }', `${' '.repeat(25)}^`]]);
});

test('the first of thousands of problems are shown, and the others counted', async () => {
  const users = Array.from({ length: 5_000 }, () => '{"userId":"x"}').join(',');
  const yaml = `followers: { baseUrl: "https://a.example", credentials: [{ name: a, bearer: "\${TOKEN}" }], users: [${users}] }\n`;
  const { problems, message } = await refusal(yaml, { env: ENV });
  expect(problems).toHaveLength(51);
  expect(problems.at(-1)?.message).toMatch(/^and 4950 more\. /);
  expect(message.length).toBeLessThan(20_000);
});

test('a long line is cut around the marker, and a wide character takes two cells', () => {
  const [problem] = withExcerpts([{ line: 1, column: 501, length: 3, key: '', message: '' }], {
    text: `${' '.repeat(400)}${'-'.repeat(100)}[[[${'-'.repeat(400)}`,
    isKeyShown: () => false,
  });
  const [line = '', marks = ''] = problem?.excerpt ?? [];
  expect([line.length, line.slice(marks.indexOf('^'), marks.length), line.at(0), line.at(-1)]).toEqual([70, '[[[', '…', '…']);
  const wide = withExcerpts([{ line: 1, column: 3, key: '', message: '' }], {
    text: '書 [',
    isKeyShown: () => false,
    open: new Map([[0, 1]]),
  });
  expect(wide[0]?.excerpt).toEqual(['書 [', '   ^']);
});
