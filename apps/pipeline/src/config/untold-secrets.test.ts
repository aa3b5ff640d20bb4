import { basename } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BOOKS, FOLLOWERS } from './config-folder.fixture.ts';
import { ConfigError } from './config-error.ts';
import { formatProblems } from './format-problems.ts';
import { loadConfig } from './config-folder.fixture.ts';

const SECRET = 'S3cr3t-kEy';
const ENV = { TOKEN: 'one', OTHER: 'two', KEY: 'three' };

/** The problems and warnings of a configuration, as a command prints them. */
async function said(yaml: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const all: Readonly<Record<string, string>> = { 'headgate.yaml': yaml, ...files };
  const readFile = async (path: string): Promise<string> =>
    all[basename(path)] ?? Promise.reject(Object.assign(new Error(path), { code: 'ENOENT' }));
  try {
    const { warnings } = await loadConfig({ env: ENV, readFile });
    return formatProblems('headgate.yaml', [], warnings);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return `${error.message}\n${formatProblems('headgate.yaml', error.problems, error.warnings)}`;
  }
}

test.each([
  ['a colon without its space', `books: { baseUrl: "https://b.example", key:${SECRET} }`, '1:40'],
  ['no colon', `books: { baseUrl: "https://b.example", key ${SECRET} }`, '1:40'],
  ['an equals sign', `books: { baseUrl: "https://b.example", key=${SECRET} }`, '1:40'],
  ['a password', `topics: { driver: kafka, brokers: [a:1], sasl: { mechanism: plain, username: u, password:${SECRET} } }`, '1:81'],
  ['a variable in place of a section', `{ topics: {}, BOOKS_KEY:${SECRET} }`, '1:15'],
  ['twice', `followers: { baseUrl: "https://a.example", credentials: [{ name: a, bearer:${SECRET}, bearer:${SECRET} }] }`, '1:88'],
  ['alone', `followers: { baseUrl: "https://a.example", credentials: [{ name: a, ${SECRET} }] }`, '1:69'],
  ['a broker with a password', `topics: { driver: kafka, brokers: ['u:${SECRET}@host:1'] }\n${BOOKS}`, '1:36'],
  ['a name for a variable', 'books: { key: "${sECret1234}", baseUrl: "https://b.example" }', '1:15'],
])('a misspelled secret in a configuration is not shown: %s', async (_name, yaml, place) => {
  const text = await said(yaml);
  expect(text).toContain(`${place} `);
  expect(text).not.toMatch(/S3cr3t|sECret/);
});

test('a key with a value is shown however wrong it is, and never its value', async () => {
  const text = await said(
    `api:
  use: rest
  baseUrl: https://a.example
  credentials: [{ name: a, frobnicate: ${SECRET} }]
  streams: { items: { get: /items, kee: $.id, limits-of-pages: [${SECRET}], ${SECRET}, x:${SECRET} } }
`,
  );
  expect(text).toMatch(/4:28 +api\.credentials\[0\]\.frobnicate +unknown key/);
  expect(text).toMatch(/5:36 +api\.streams\.items\.kee +unknown key\. Did you mean key\?/);
  expect(text).toMatch(/5:47 +api\.streams\.items\.limits-of-pages +unknown key/);
  expect(text).not.toContain('S3cr3t');
});

test('a file of secrets instead of a list is not shown, and its lines are named', async () => {
  const text = await said(`${FOLLOWERS}  users: [{ file: .env.local }]\n`, {
    '.env.local': `FOLLOWERS_BEARER_TOKEN=${SECRET}\nx: ${SECRET}\n`,
  });
  expect(text).toContain("line 1 of this file: isn't a screen name.");
  expect(text).toContain("line 2 of this file: isn't a screen name.");
  expect(text).not.toContain('S3cr3t');
});

test('a token instead of the path of its file is not shown', async () => {
  for (const wrong of [
    `sasl: { mechanism: oauthbearer, tokenFile: ${SECRET} }`,
    `ssl: { cert: "-----BEGIN CERTIFICATE-----", key: ${SECRET} }`,
  ]) {
    const text = await said(`topics: { driver: kafka, brokers: [a:1], ${wrong} }\n${BOOKS}`);
    expect(text).toContain("doesn't exist.");
    expect(text).not.toContain('S3cr3t');
  }
});

const SECTIONS = `topics: { driver: kafka, brokers: ["a:1"], clientId: a, group: b, lanes: 1, replication: 3, compression: gzip, ssl: true, sasl: { mechanism: plain, username: u, password: p } }
status: { port: 1, host: a }
followers:
  baseUrl: https://a.example
  credentials: [{ name: a, bearer: b }, { name: b, oauth1: { consumerKey: c, consumerSecret: d, token: e, tokenSecret: f } }]
  limit: { requests: 1, window: 1s }
  count: 10
  maxBody: 1MiB
  timeout: 1s
  proxy: http://a.example
  users: [alpha, { userId: "12" }, { screenName: beta }, { file: list.txt }]
  emit: [pages, ids]
  every: 24h
  stringifyIds: true
books:
  plan: pro
  baseUrls: { pro: https://b.example }
  key: k
  perDay: { isbns: 5, resetsAt: "00:00", zone: UTC }
  isbns: ["9780792712305"]
`;
/** Start and end of each value in `SECTIONS`. */
const VALUES = [...SECTIONS.matchAll(/(?<=[:[] )[\w"./:]+(?=[\n ,}\]])/g)].map(
  ({ index, 0: { length } }) => [index, index + length] as const,
);
const MAPPINGS = [...SECTIONS.matchAll(/(?<=\{ )/g)].map(({ index }) => [index, index] as const);

test('no part of a misplaced secret is shown', async () => {
  const letter = fc.constantFrom(...Array.from('abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'));
  const secret = fc.array(letter, { minLength: 14, maxLength: 60 }).map((letters) => `${letters.join('')}a1`);
  const spelling = fc.constantFrom<((text: string) => string)[]>(
    (text) => text,
    (text) => `key:${text}`,
    (text) => `key: ${text}`,
    (text) => `token=${text}`,
    (text) => `bearer ${text}`,
    (text) => `"${text}"`,
    (text) => `"${text}`,
    (text) => `*${text}`,
    (text) => `!${text} x`,
    (text) => `"\${${text}}"`,
    (text) => `\${${text}`,
    (text) => `u:${text}@host:1`,
    (text) => `https://u:${text}@a.example`,
    (text) => `{ ${text} }`,
    (text) => `[${text}]`,
    (text) => `? ${text}`,
    (text) => `${text}, ${text}`,
    (text) => `? { ${text}: ${text} }`,
  );
  const values = fc.tuple(fc.constantFrom(...VALUES), spelling);
  const keys = fc.tuple(
    fc.constantFrom(...MAPPINGS),
    spelling.map((spell) => (text: string) => `${spell(text)}, `),
  );
  await fc.assert(
    fc.asyncProperty(secret, fc.oneof(values, keys), spelling, async (hidden, [[from, to], spell], spellLine) => {
      const yaml = SECTIONS.slice(0, from) + spell(hidden) + SECTIONS.slice(to);
      const text = await said(yaml, { 'list.txt': `${spellLine(hidden)}\n` });
      for (let i = 0; i + 8 <= hidden.length; i += 1) expect(text).not.toContain(hidden.slice(i, i + 8));
    }),
    { numRuns: 200 },
  );
});
