import { expect, test } from 'vitest';
import { followersOptions } from '../pipelines/options-of.fixture.ts';
import { ENV, FOLLOWERS, load, problemsOf } from './config-folder.fixture.ts';

test.each([
  [
    'maxOutstanding: 4999',
    '6:19 followers.maxOutstanding: "4999" is too small for a page of 5000 ids. Write 5000 or more, or a smaller count.',
  ],
  ['maxOutstanding: "20000"', '6:19 followers.maxOutstanding: "20000" must be a number. Write it without quotes.'],
  ['count: 0', '6:10 followers.count: "0" must be 1 or more.'],
  ['count: 2.5', '6:10 followers.count: "2.5" must be a whole number. Write 5000.'],
  ['count: .nan', '6:10 followers.count: must be a number. Write 5000.'],
  ['count: [1]', '6:10 followers.count: must be a number. Write 5000.'],
  ['timeout: 30', '6:12 followers.timeout: "30" isn\'t a duration. Write 30s or 30ms.'],
  ['maxBody: 16MB', '6:12 followers.maxBody: "16MB" isn\'t a size. Write a whole number with B, KiB, MiB or GiB, such as 16MiB.'],
  ['every:', '6:9 followers.every: has no value. Write 24h, or remove the key.'],
  ['emit: []', '6:9 followers.emit: is empty. Write [pages, ids].'],
  ['emit: [pages, id]', "6:17 followers.emit[1]: isn't known. Did you mean ids?"],
  ['emit: [ids, changes]', '6:9 followers.emit: changes need pages. Write, for example, [pages, changes].'],
  ['emit: [everything]', "6:10 followers.emit[0]: isn't known. Write pages, ids or changes."],
  ['stringifyIds: yes', '6:17 followers.stringifyIds: must be true or false. Write true.'],
  [
    'userAgent: "a\\nb"',
    "6:14 followers.userAgent: has characters that a header can't carry. Write printable ASCII, such as my-crawler/1.0.",
  ],
  ['limit: 15', '6:10 followers.limit: "15" must be a mapping of keys to values. Write { requests: 15, window: 15m }.'],
])('%s is refused', async (line, problem) => {
  expect(await problemsOf(`${FOLLOWERS}  ${line}\n`, { env: ENV })).toEqual([problem]);
});

test('numbers, enums and booleans may come from variables', async () => {
  const yaml = `${FOLLOWERS}  count: "\${COUNT}"\n  stringifyIds: "\${STRINGS}"\n  every: "\${EVERY}"\n  emit: ["\${EMIT}"]\n`;
  const { config } = await load(yaml, { env: { ...ENV, COUNT: '50', STRINGS: 'false', EVERY: '1d', EMIT: 'ids' } });
  expect(followersOptions(config.pipelines)).toMatchObject({ count: 50, stringifyIds: false, every: 86_400_000, emit: ['ids'] });
});

test.each([
  ['{ name: app }', '4:7 followers.credentials[0]: needs bearer or oauth1. Write bearer: "${FOLLOWERS_BEARER_TOKEN}".'],
  ['{ bearer: "${TOKEN}" }', '4:7 followers.credentials[0].name: is missing. Write app.'],
  [
    '{ name: a b, bearer: "${TOKEN}" }',
    '4:15 followers.credentials[0].name: isn\'t a valid name. Write up to 64 letters, digits, ".", "_" and "-", such as app.',
  ],
  [
    '{ name: app, bearer: "${TOKEN}", oauth1: { consumerKey: "${TOKEN}", consumerSecret: "" } }',
    "4:48 followers.credentials[0].oauth1: can't be combined with bearer. Keep one of them, or write two credentials.",
  ],
  [
    '{ name: app, oauth1: { consumerKey: "${TOKEN}", consumerSecret: "", tokenSecret: "" } }',
    '4:88 followers.credentials[0].oauth1.tokenSecret: needs token, too. Write both or neither.',
  ],
  [
    '{ name: app, oauth1: { consumerKey: "${TOKEN}", consumersecret: "" } }',
    '4:55 followers.credentials[0].oauth1.consumersecret: unknown key. Did you mean consumerSecret?',
  ],
  ['secret-7', '4:7 followers.credentials[0]: must be a mapping of keys to values. Write { name: app }.'],
])('the credential %s is refused', async (credential, problem) => {
  const yaml = `followers:\n  baseUrl: https://api.example.com\n  credentials:\n    - ${credential}\n`;
  expect(await problemsOf(yaml, { env: ENV })).toEqual(expect.arrayContaining([problem]));
});

test('an OAuth 1.0a secret may contain any characters, because it only signs or is percent-encoded', async () => {
  const yaml = `followers:
  baseUrl: https://api.example.com
  credentials:
    - { name: app, oauth1: { consumerKey: "\${A}", consumerSecret: "\${B}", token: "\${C}", tokenSecret: "\${D}" } }
`;
  const env = { A: 'schlüssel', B: 'Geheimnis €', C: 'тайна', D: '秘密' };
  const [credential] = followersOptions((await load(yaml, { env })).config.pipelines)?.credentials ?? [];
  const secrets =
    credential !== undefined && 'oauth1' in credential ? Object.values(credential.oauth1 ?? {}).map((read: () => string) => read()) : [];
  expect(secrets).toEqual(Object.values(env));
  const control = 'has a line break or another control character. Copy it again.';
  expect(await problemsOf(yaml, { env: { ...env, B: 'two\nlines', D: 'half \ud800 of one' } })).toEqual([
    `4:67 followers.credentials[0].oauth1.consumerSecret: uses \${B}, which ${control}`,
    '4:103 followers.credentials[0].oauth1.tokenSecret: uses ${D}, which has half a surrogate pair, which has no UTF-8 form. Copy it again.',
  ]);
});

test('each credential has its own secret, and none is shown', async () => {
  const oauth1 = (name: string, more: string): string =>
    `    - { name: ${name}, oauth1: { consumerKey: "\${KEY}", consumerSecret: "\${S}"${more} } }\n`;
  const token = (name: string): string => `, token: "\${${name}}", tokenSecret: "\${S}"`;
  const yaml = `followers:
  baseUrl: https://api.example.com
  credentials:
    - { name: a, bearer: "\${TOKEN}" }
    - { name: b, bearer: "\${KEY}" }
    - { name: c, bearer: "\${AGAIN}" }
${oauth1('d', '')}${oauth1('e', token('TOKEN'))}${oauth1('f', token('KEY'))}${oauth1('g', '')}${oauth1('h', token('AGAIN'))}`;
  const env = { ...ENV, AGAIN: 'token-value-1', S: 'secret' };
  const too = (index: number): string =>
    `is also the secret of credentials[${index}]. The service counts both against one budget. Keep one of them.`;
  expect(await problemsOf(yaml, { env })).toEqual([
    `6:26 followers.credentials[2].bearer: uses \${AGAIN}, which ${too(0)}`,
    `10:26 followers.credentials[6].oauth1: ${too(3)}`,
    `11:26 followers.credentials[7].oauth1: ${too(4)}`,
  ]);
  // Two credentials whose variables are unset don't count as equal.
  const unset = await problemsOf(yaml, { env: { KEY: 'key-value-2', S: 'secret' } });
  expect(unset.filter((problem) => problem.includes('is also the secret'))).toEqual([`10:26 followers.credentials[6].oauth1: ${too(3)}`]);
});

test('each credential has its own name', async () => {
  expect(await problemsOf(FOLLOWERS.replace('user', 'app'), { env: ENV })).toEqual([
    '5:15 followers.credentials[1].name: is also the name of credentials[0]. Give each its own name.',
  ]);
});

test('warns of a user token without its secret, which may be empty', async () => {
  const section = (more: string): string =>
    `followers:\n  baseUrl: https://api.example.com\n  credentials:\n    - { name: app, oauth1: { consumerKey: "\${TOKEN}", consumerSecret: "", token: "\${KEY}"${more} } }\n`;
  const { warnings } = await load(section(''), { env: ENV });
  expect(warnings.map(({ key, message }) => `${key} ${message}`)).toEqual([
    'followers.credentials[0].oauth1.token has no tokenSecret, so requests are signed with an empty one. Add tokenSecret, or write "" if it is empty.',
  ]);
  expect((await load(section(', tokenSecret: ""'), { env: ENV })).warnings).toEqual([]);
});
