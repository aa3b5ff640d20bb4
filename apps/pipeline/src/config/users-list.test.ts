import { expect, test } from 'vitest';
import { followersOptions } from '../pipelines/options-of.fixture.ts';
import { ENV, FOLLOWERS, load, problemsOf } from './config-folder.fixture.ts';

async function users(written: string, files: Record<string, string> = {}): Promise<readonly unknown[] | undefined> {
  const { config } = await load(`${FOLLOWERS}  users: ${written}\n`, { env: ENV, files });
  return followersOptions(config.pipelines)?.users;
}

function problems(written: string, files: Record<string, string> = {}): Promise<readonly string[]> {
  return problemsOf(`${FOLLOWERS}  users: ${written}\n`, { env: ENV, files });
}

test('names and IDs in all spellings, in order', async () => {
  expect(
    await users('[alpha, @beta, "@gamma", alpha, { screenName: 99 }, { screenName: "@delta" }, { userId: "12" }, { userId: 12 }]'),
  ).toEqual([
    { screenName: 'alpha' },
    { screenName: 'beta' },
    { screenName: 'gamma' },
    { screenName: 'alpha' },
    { screenName: '99' },
    { screenName: 'delta' },
    { userId: '12' },
    { userId: '12' },
  ]);
});

test('an unquoted ID keeps every digit', async () => {
  expect(await users('[{ userId: 9007199254740993123 }]')).toEqual([{ userId: '9007199254740993123' }]);
});

test('an unquoted word that YAML reads as another type is a name', async () => {
  expect(await users('[true, 1e5]')).toEqual([{ screenName: 'true' }, { screenName: '1e5' }]);
});

test('a list whose entries are all commented out is empty', async () => {
  expect(await users('\n    # - alpha')).toEqual([]);
});

test('bare digits are ambiguous, with and without quotes', async () => {
  expect(await problems('[12, "12"]')).toEqual([
    '6:11 followers.users[0]: "12" could be a user ID or a screen name. Write id:12 or "@12".',
    '6:15 followers.users[1]: "12" could be a user ID or a screen name. Write id:12 or "@12".',
  ]);
});

test('digits that can’t be an ID are suggested only as a name', async () => {
  const noId = "isn't a user ID: an ID is at most 18446744073709551615, without leading zeros.";
  expect(await problems('["012", "123456789012345678901"]')).toEqual([
    `6:11 followers.users[0]: "012" ${noId} If it is a screen name, write "@012".`,
    `6:18 followers.users[1]: "123456789012345678901" ${noId} If it is a screen name, write "@123456789012345678901".`,
  ]);
  expect(await problems(`["${'1'.repeat(51)}"]`)).toEqual([`6:11 followers.users[0]: ${noId}`]);
});

test.each([
  ['[a b]', '6:11 followers.users[0]: isn\'t a screen name. Write 1 to 50 letters, digits and "_", such as alpha.'],
  ['[{ userId: 012 }]', '6:21 followers.users[0].userId: "012" must be digits, at most 18446744073709551615, without leading zeros'],
  ['[{ userId: 1e3 }]', '6:21 followers.users[0].userId: must be digits, at most 18446744073709551615, without leading zeros'],
  ['[{ screename: a }]', '6:13 followers.users[0].screename: unknown key. Did you mean screenName?'],
  ['[{ userId: "1", screenName: a }]', '6:13 followers.users[0].userId: unknown key. Known keys: screenName.'],
  ['[{ file: a.txt, x: 1 }]', '6:26 followers.users[0].x: unknown key. Known keys: screenName.'],
  ['[~]', `6:11 followers.users[0]: has no value. Write one, or remove the key.`],
  ['alpha', '6:10 followers.users: must be a list. Write [alpha, { userId: "12" }, { file: users.txt }].'],
  ['[[alpha]]', '6:11 followers.users[0]: must be text or a mapping of keys to values.'],
])('%s is refused', async (written, problem) => {
  expect(await problems(written)).toEqual(expect.arrayContaining([problem]));
});

test('a file has one entry per line, apart from comments and blank lines', async () => {
  const text = '\uFEFF# ours\r\nalpha\r\n\r\n  @beta # the second\nid:9007199254740993123\nid: 7\nalpha\n';
  expect(await users('[zeta, { file: lists.txt }]', { 'lists.txt': text })).toEqual([
    { screenName: 'zeta' },
    { screenName: 'alpha' },
    { screenName: 'beta' },
    { userId: '9007199254740993123' },
    { userId: '7' },
    { screenName: 'alpha' },
  ]);
});

test('a missing file is a problem at its line', async () => {
  expect(await problems('[alpha, { file: nope.txt }]')).toEqual([
    "6:26 followers.users[1].file: doesn't exist. Paths are relative to this file.",
  ]);
});

test('problems in a file are reported line by line, up to a limit', async () => {
  const text = `alpha\n12\nid:x\n${'bad name\n'.repeat(60)}`;
  const found = await problems('[{ file: u.txt }]', { 'u.txt': text });
  expect(found.slice(0, 2)).toEqual([
    '6:19 followers.users[0].file: line 2 of this file: "12" could be a user ID or a screen name. Write id:12 or "@12".',
    expect.stringMatching(/^6:19 followers\.users\[0\]\.file: line 3 of this file: isn't a user ID:/),
  ]);
  expect(found).toHaveLength(51);
  expect(found.at(-1)).toMatch(/and 12 more\. Fix these first\.$/u);
});

test('spellings of one screen name are one user', async () => {
  const users = '[gamma, { userId: "12" }, alpha, { screenName: Gamma }, "${NAME}", { file: u.txt }, ALPHA]';
  const yaml = `${FOLLOWERS}  users: ${users}\n`;
  const files = { 'u.txt': 'id:12\nalpha\nGAMMA\n' };
  const { config } = await load(yaml, { env: { ...ENV, NAME: 'gAMMA' }, files });
  expect(new Set(Array.from(config.pipelines[0]?.listed() ?? [], ({ key }) => key))).toEqual(new Set(['@gamma', '12', '@alpha']));
});

test.each(['\n', '\r'])('a list too large for memory is refused, with %j at the end of its lines', async (end) => {
  const files = { 'first.txt': `alpha${end}`.repeat(600_000), 'second.txt': `beta${end}`.repeat(600_000) };
  expect(await problems('[{ file: first.txt }, { file: second.txt }]', files)).toEqual([
    '6:40 followers.users[1].file: exceeds the 1,000,000 lines that a section may read from files. Split the file, and add the other parts with enqueue.',
  ]);
});

test('warns of a file without entries', async () => {
  const { warnings } = await load(`${FOLLOWERS}  users: [{ file: users.txt }]\n`, { env: ENV, files: { 'users.txt': '# alpha\n\n' } });
  expect(warnings).toMatchObject([
    {
      line: 6,
      column: 19,
      key: 'followers.users[0].file',
      message: 'this file has no entries. Write one per line. Comments start with #.',
    },
  ]);
});

test('a file name with a NUL is reported', async () => {
  expect(await problems('[{ file: "a\\0b" }]')).toEqual([
    "6:19 followers.users[0].file: has a NUL character, which a path can't contain. Remove it.",
  ]);
});
