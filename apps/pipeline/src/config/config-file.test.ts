import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { BOOKS, ENV, FOLLOWERS, configFolder, load, problemsOf, refusal } from './config-folder.fixture.ts';
import { ConfigError } from './config-error.ts';
import { openConfig } from './config-file.ts';
import { sayProblem } from './format-problems.ts';
import { loadConfig } from './config-folder.fixture.ts';
import { booksOptions, followersOptions } from '../pipelines/options-of.fixture.ts';

test('defaults are filled in', async () => {
  const cwd = await configFolder({ 'headgate.yaml': FOLLOWERS + BOOKS });
  const { config, warnings } = await loadConfig({ cwd, env: ENV });
  expect(warnings).toEqual([]);
  const http = { timeout: 30_000, maxBody: 16_777_216, maxDelay: 5000, retryFor: 600_000, allowPlainHttp: false };
  expect(config).toMatchObject({
    topics: { driver: 'sqlite', file: join(cwd, 'headgate.db'), group: 'headgate', lanes: 1, prefix: '', names: {} },
    status: { port: 9464, host: '127.0.0.1', names: [] },
  });
  expect(config.pipelines.map(({ name }) => name)).toEqual(['followers', 'books']);
  expect(followersOptions(config.pipelines)).toEqual({
    ...http,
    baseUrl: 'https://api.example.com',
    credentials: [
      { name: 'app', bearer: expect.any(Function) },
      { name: 'user', bearer: expect.any(Function) },
    ],
    limit: { requests: 15, window: 900_000 },
    count: 5000,
    stringifyIds: true,
    maxOutstanding: 30_000,
    unwrittenPages: 5,
    stopAfterFailures: 10,
    format: 'json',
    maxEmptyPages: 100,
    users: [],
    emit: ['pages'],
    dropBoundaryDuplicates: false,
  });
  expect(booksOptions(config.pipelines)).toEqual({
    ...http,
    baseUrl: 'https://books.example.com',
    plan: 'default',
    key: expect.any(Function),
    maxBatch: 100,
    maxOutstanding: 1000,
    unwrittenPages: 5,
    stopAfterFailures: 10,
    format: 'json',
    isbns: [],
    authors: [],
    maxPages: 500,
  });
  expect(booksOptions(config.pipelines)?.key()).toBe('key-value-2');
});

test('everything can be set', async () => {
  const yaml = `topics: { driver: sqlite, file: data/h.db, group: g, lanes: 2, prefix: prod., names: { followers.ids: ids } }
status: false
followers:
  baseUrl: https://api.example.com/v1/
  credentials:
    - { name: app, bearer: "\${TOKEN}" }
    - name: user
      oauth1: { consumerKey: "\${KEY}", consumerSecret: "", token: "\${TOKEN}", tokenSecret: "\${TOKEN}" }
  limit: { requests: "\${REQUESTS}", window: 12s }
  count: 100
  timeout: 5s
  maxBody: 1MiB
  maxDelay: 0s
  retryFor: 1h
  userAgent: crawler/1.0
  proxy: http://127.0.0.1:3128
  maxOutstanding: 100
  users: [alpha]
  stringifyIds: false
  dropBoundaryDuplicates: true
  maxEmptyPages: 7
  emit: [ids, pages, changes, ids]
  every: 24h
books:
  plan: pro
  baseUrls: { default: https://books.example.com, pro: https://pro.example.com }
  key: "\${KEY}"
  maxBatch: 10
  maxOutstanding: 10
  pageSize: 7
  maxPages: 3
  perDay: { isbns: 5000, resetsAt: "06:30", zone: Europe/Berlin }
  authors: [Charlotte Vale Allen]
  every: 1d
`;
  const { config } = await load(yaml, { env: { ...ENV, REQUESTS: '3' } });
  expect(config.status).toBe(false);
  expect(config.topics).toMatchObject({
    file: expect.stringMatching(/[/\\]data[/\\]h\.db$/),
    group: 'g',
    lanes: 2,
    prefix: 'prod.',
    names: { 'followers.ids': 'ids' },
  });
  const followers = followersOptions(config.pipelines);
  expect(followers).toMatchObject({
    baseUrl: 'https://api.example.com/v1',
    limit: { requests: 3, window: 12_000 },
    count: 100,
    timeout: 5000,
    maxBody: 1_048_576,
    maxDelay: 0,
    retryFor: 3_600_000,
    userAgent: 'crawler/1.0',
    proxy: expect.any(Function),
    users: [{ screenName: 'alpha' }],
    stringifyIds: false,
    dropBoundaryDuplicates: true,
    maxEmptyPages: 7,
    emit: ['ids', 'pages', 'changes', 'ids'],
    every: 86_400_000,
  });
  const oauth1 = followers?.credentials[1]?.oauth1;
  expect([oauth1?.consumerKey(), oauth1?.consumerSecret()]).toEqual(['key-value-2', '']);
  expect(booksOptions(config.pipelines)).toMatchObject({
    plan: 'pro',
    maxBatch: 10,
    pageSize: 7,
    maxPages: 3,
    perDay: { isbns: 5000, resetsAt: '06:30', zone: 'Europe/Berlin' },
    authors: ['Charlotte Vale Allen'],
    every: 86_400_000,
  });
});

test('all problems come at once, each at its place, in the order of the file', async () => {
  const yaml = `topics: { driver: sqlite, lanez: 2 }
followers:
  baseUrl: ftp://api.example.com
  credentials:
    - { name: app, bearer: "\${TOKEN}" }
  limit: { requests: 0, window: 15 min }
  count: 6000
books:
  plann: pro
  baseUrl: https://books.example.com
  key: "\${BOOKS_KEY}"
`;
  expect(await problemsOf(yaml, { env: ENV })).toEqual([
    '1:27 topics.lanez: unknown key. Did you mean lanes?',
    "3:12 followers.baseUrl: isn't an address. Write, for example, https://api.example.com.",
    '6:22 followers.limit.requests: "0" must be more than 0.',
    '6:33 followers.limit.window: "15 min" isn\'t a duration. Write 15m, 900s or 900000ms.',
    '7:10 followers.count: "6000" must be 5000 or less.',
    '9:3 books.plann: unknown key. Did you mean plan?',
    "11:8 books.key: uses ${BOOKS_KEY}, which isn't set. Export it, or put it into .env next to this file.",
  ]);
});

test('a missing key is reported at its mapping', async () => {
  expect(await problemsOf('followers:\n  credentials: []\nbooks: {}\n')).toEqual([
    '1:1 followers.baseUrl: is missing. Write https://api.example.com.',
    '2:16 followers.credentials: is empty. Write [{ name: app, bearer: "${FOLLOWERS_BEARER_TOKEN}" }].',
    '3:1 books.key: is missing. Write "${BOOKS_KEY}".',
  ]);
});

test.each([
  ['', '1:1 : the file is empty. Write one with: headgate init --force'],
  ['# nothing\n', '1:1 : the file is empty. Write one with: headgate init --force'],
  ['followers\n', '1:1 : must be a mapping with followers: or books: in it.'],
  [
    'status: false\n',
    '1:1 : there is no pipeline. Add followers: or books:, as headgate init writes them, or your own pipeline: use: ./its-module.ts under its name.',
  ],
])('%j has no pipeline', async (yaml, problem) => {
  expect(await problemsOf(yaml)).toEqual([problem]);
});

test('an unknown section is reported with the closest name', async () => {
  expect(await problemsOf(`${BOOKS}folowers: {}\nxyz: 1\nabc:\n`, { env: ENV })).toEqual([
    '4:1 folowers: unknown key. Did you mean followers?',
    '5:1 xyz: unknown key. Known keys: topics, status, followers, books. To add your own pipeline, write use: ./its-module.ts under its name.',
    '6:1 : unknown key. Known keys: topics, status, followers, books. To add your own pipeline, write use: ./its-module.ts under its name.',
  ]);
});

test('lanes without credentials are refused', async () => {
  const yaml = `topics:\n  lanes: 3\n${FOLLOWERS}`;
  expect(await problemsOf(yaml, { env: ENV })).toEqual([
    '2:10 topics.lanes: 3 lanes need at least 3 followers credentials, but there are 2. Write 2 or less, or add credentials.',
  ]);
});

test('lanes that would each use a shared limit are refused', async () => {
  const section = (limit: string) =>
    `topics:\n  lanes: 2\nshops:\n  use: rest\n  baseUrl: https://api.example.com\n  credentials: [{ name: a, bearer: x }, { name: b, bearer: y }]\n  ${limit}\n  streams: { items: { get: /items, key: $.id } }\n`;
  const refused = ["2:10 topics.lanes: 2 lanes can't share a limit, and shops has one over all credentials (shared). Write 1."];
  expect(await problemsOf(section('limit: { requests: 1, window: 1s, shared: true }'))).toEqual(refused);
  expect(await problemsOf(section('budgets: { day: { requests: 1, per: day, shared: true } }'))).toEqual(refused);
  expect((await load(section('limit: { requests: 1, window: 1s, shared: false }'))).config.pipelines).toHaveLength(1);
});

test('.env beside the file is read, and the environment wins', async () => {
  const yaml = `${BOOKS}  userAgent: "\${AGENT}"\n`;
  const { config } = await load(yaml, { files: { '.env': 'KEY="from file"\nAGENT=from-file\n' }, env: { KEY: 'from-environment' } });
  expect(booksOptions(config.pipelines)?.key()).toBe('from-environment');
  expect(booksOptions(config.pipelines)?.userAgent).toBe('from-file');
});

// Windows has no file modes such as 644.
test.skipIf(process.platform === 'win32')('.env that every user of the machine can read is warned about', async () => {
  const cwd = await configFolder({ 'headgate.yaml': BOOKS, '.env': 'KEY=value' });
  const warned = async (mode: number): Promise<readonly string[]> => {
    await chmod(join(cwd, '.env'), mode);
    return (await loadConfig({ cwd, env: {} })).warnings.map((warning) => sayProblem('headgate.yaml', warning));
  };
  expect(await warned(0o644)).toEqual([
    'headgate.yaml: .env next to this file can be read by every user of this machine. Restrict it to its owner: chmod 600 .env',
  ]);
  expect(await warned(0o640)).toEqual([]);
  expect(await warned(0o600)).toEqual([]);
});

test('a missing file is reported with the command that creates one', async () => {
  const cwd = await configFolder({});
  await expect(loadConfig({ cwd, env: {} })).rejects.toMatchObject({
    code: 'HEADGATE_CONFIG',
    retryable: false,
    problems: [],
    message: 'headgate.yaml not found in this folder. Create one with: headgate init',
  });
  await expect(loadConfig({ cwd, file: 'conf/other.yaml', env: { HEADGATE_COMMAND: 'npm run headgate --' } })).rejects.toThrow(
    'other.yaml not found in conf. Create one with: npm run headgate -- init --config conf/other.yaml',
  );
});

test.each([
  ['', 'Write one with: npm run headgate -- init --force --config other.yaml'],
  ['topics: { driver: sqlite }\n', 'as npm run headgate -- init --config other.yaml writes them'],
])('an error in %j names the command as the user types it', async (yaml, words) => {
  const cwd = await configFolder({ 'other.yaml': yaml });
  const env = { HEADGATE_COMMAND: 'npm run headgate --' };
  await expect(loadConfig({ cwd, file: 'other.yaml', env })).rejects.toThrow(words);
});

test('a path that is not a file is reported', async () => {
  const cwd = await configFolder({});
  await expect(loadConfig({ cwd, file: '.', env: {} })).rejects.toThrow('. is a folder. Name a file.');
});

test('an oversized configuration file is reported, with advice about its lists', async () => {
  const error = await refusal(`${FOLLOWERS}  users: [${'alpha, '.repeat(700_000)}]\n`, { env: ENV });
  expect(error.message).toBe(
    'headgate.yaml is larger than 4 MiB. Put long lists into separate files, for example users: [{ file: users.txt }].',
  );
});

test('an error of a section is thrown when that section is asked for, and no other', async () => {
  const yaml = `topics: { driver: kafka, brokers: ["127.0.0.1:9092"] }\n${BOOKS}  plan: x\n${FOLLOWERS}`;
  const config = await openConfig({ cwd: await configFolder({ 'headgate.yaml': yaml }), env: ENV });
  const wrong = { code: 'HEADGATE_CONFIG', problems: [expect.objectContaining({ key: 'books.plan' })] };
  expect(config.topics()).toMatchObject({ driver: 'kafka', brokers: ['127.0.0.1:9092'] });
  expect(config.pipeline('followers')?.name).toBe('followers');
  expect([config.pipeline('other'), config.definition('other')]).toEqual([undefined, undefined]);
  // The jobs of a built-in pipeline don't depend on its options.
  expect(config.definition('books')?.name).toBe('books');
  expect(() => config.pipeline('books')).toThrow(expect.objectContaining(wrong) as Error);
  expect(() => config.all()).toThrow(expect.objectContaining(wrong) as Error);
});

test('status is read only as a part of the whole', async () => {
  const config = await openConfig({ cwd: await configFolder({ 'headgate.yaml': `status: 7\n${BOOKS}` }), env: ENV });
  expect([config.topics().driver, config.pipeline('books')?.name]).toEqual(['sqlite', 'books']);
  expect(() => config.all()).toThrow('status');
});

test.each(['lanes: 10', 'names: { followers.idz: x }', 'names: { followers.ids: x, followers.pages: x }'])(
  'topics that do not fit the pipelines are no valid section: %s',
  async (setting) => {
    const cwd = await configFolder({ 'headgate.yaml': `topics: { ${setting} }\n${FOLLOWERS}` });
    const config = await openConfig({ cwd, env: ENV });
    expect(() => config.topics()).toThrow('topics.');
    expect(config.pipelines.map(({ name }) => name)).toEqual(['followers']);
  },
);

test('the first of thousands of problems are listed, and the others counted', async () => {
  const users = Array.from({ length: 5_000 }, () => '{"userId":"x"}').join(',');
  const yaml = `followers: { baseUrl: "https://a.example", credentials: [{ name: a, bearer: "\${TOKEN}" }], users: [${users}] }\n`;
  const { problems, message } = await refusal(yaml, { env: ENV });
  expect(problems).toHaveLength(51);
  expect(problems.at(-1)?.message).toMatch(/^and 4950 more\. /);
  expect(message.length).toBeLessThan(20_000);
});

test('no secret shows in a configuration or an error, however it is printed', async () => {
  const secrets = ['token-value-1', 'key-value-2', 'plain-secret-3', 'token-value-3', 'proxy-secret-4'];
  const plain = `  proxy: http://me:proxy-secret-4@127.0.0.1:3128\n`;
  const yaml = `${FOLLOWERS.replace('"${TOKEN}"', 'plain-secret-3')}${plain}${BOOKS}`;
  const loaded = await load(yaml, { env: ENV });
  const error = await refusal(`${yaml}  plann: pro\n  perDay: { isbns: "\${KEY}" }\n  timeout: "\${TOKEN}"\n  plan: "\${TOKEN}"\n`, {
    env: ENV,
  });
  expect(followersOptions(loaded.config.pipelines)?.credentials.map((credential) => credential.bearer?.())).toEqual(secrets.slice(2, 4));
  expect(loaded.warnings.map(({ line, column, key, message }) => `${line}:${column} ${key}: ${message}`)).toEqual([
    '4:28 followers.credentials[0].bearer: a secret in plain text. Put it into .env next to this file and write "${FOLLOWERS_BEARER_TOKEN}" here.',
    '6:10 followers.proxy: a secret in plain text. Put it into .env next to this file and write "${FOLLOWERS_PROXY}" here.',
  ]);
  const printed = [loaded, error]
    .flatMap((value) => [inspect(value, { depth: 10, showHidden: true }), JSON.stringify(value)])
    .concat(String(error))
    .join('\n');
  expect(printed).toContain('[Function');
  for (const secret of secrets) expect(printed).not.toContain(secret);
  expect(error).toBeInstanceOf(ConfigError);
});

test.each([
  ['', 'is empty. Give it a value.'],
  ['two\nlines', 'has a line break or another character that no header can carry. Copy it again.'],
  [' spaced', 'starts or ends with a space. Remove it.'],
  ['Bearer abc', 'starts with the word Bearer, which Headgate adds itself. Remove it.'],
])('a secret %j is refused', async (KEY, message) => {
  expect(await problemsOf(BOOKS, { env: { KEY } })).toEqual([`3:8 books.key: uses \${KEY}, which ${message}`]);
});

test.each([
  ['${', '4:14 books.userAgent: has a ${ without a variable. Write ${NAME} with letters, digits and _, or $${ for the characters ${.'],
  ['${A} ${B}', "4:14 books.userAgent: uses ${A}, which isn't set. Export it, or put it into .env next to this file."],
])('%s in a value is a problem', async (value, problem) => {
  expect(await problemsOf(`${BOOKS}  userAgent: '${value}'\n`, { env: ENV })).toContain(problem);
});

test('$${ is a literal ${', async () => {
  expect(booksOptions((await load(`${BOOKS}  userAgent: "a $\${KEY}"\n`, { env: ENV })).config.pipelines)?.userAgent).toBe('a ${KEY}');
});

test.each([
  ['https://me:secret-5@api.example.com', 'contains a user name or password. Remove it, and use the settings for credentials.'],
  ['https://api.example.com?key=secret-5', 'contains a "?" or "#". Write only the address, such as https://books.example.com.'],
  ['ftp://secret-5.example.com', "isn't an address. Write, for example, https://books.example.com."],
  ['api.example.com', "isn't an address. Write, for example, https://books.example.com."],
])('the address %s is refused and not repeated', async (address, message) => {
  expect(await problemsOf(BOOKS.replace('https://books.example.com', address), { env: ENV })).toEqual([`2:12 books.baseUrl: ${message}`]);
});

test('warns of an address that sends credentials in clear text to another machine, unless that is allowed', async () => {
  const warned = async (yaml: string): Promise<readonly string[]> =>
    (await load(yaml, { env: ENV })).warnings.map(({ line, column, key, message }) => `${line}:${column} ${key}: ${message}`);
  const clear =
    'http sends each request and its credential over the network in clear text. Write https, or add allowPlainHttp: true to accept that.';
  const http = (text: string): string => text.replace('https', 'http');
  expect(await warned(http(FOLLOWERS))).toEqual([`2:12 followers.baseUrl: ${clear}`]);
  expect(await warned(http(BOOKS))).toEqual([`2:12 books.baseUrl: ${clear}`]);
  const plans = BOOKS.replace(/baseUrl: .*/, 'baseUrls: { default: https://a.example, pro: http://b.example }');
  expect(await warned(plans)).toEqual([]);
  expect(await warned(`${plans}  plan: pro\n`)).toEqual([`2:48 books.baseUrls.pro: ${clear}`]);
  for (const host of ['127.0.0.1:1', '127.1', 'localhost', 'api.localhost:80', '[::1]:1'])
    expect(await warned(BOOKS.replace('https://books.example.com', `http://${host}`))).toEqual([]);
  expect(await warned(BOOKS.replace('https://books.example.com', 'http://127.0.0.1.example.com'))).toHaveLength(1);
  expect(await warned(`${http(FOLLOWERS)}  allowPlainHttp: true\n${http(BOOKS)}  allowPlainHttp: true\n`)).toEqual([]);
  const section = `crm:
  use: rest
  baseUrl: http://crm.example.com
  credentials: [{ name: app, bearer: "\${TOKEN}" }]
  limit: { requests: 10, window: 1s }
  streams: { contacts: { get: /contacts } }
`;
  expect(await warned(section)).toEqual([`3:12 crm.baseUrl: ${clear}`]);
  expect(await warned(section.replace('crm.example.com', '127.0.0.1:8080'))).toEqual([]);
  expect(await warned(`${section}  allowPlainHttp: true\n`)).toEqual([]);
});

test('warns of a status page that other machines can read, unless that is allowed; its names are accepted in any case', async () => {
  const status = async (written: string): Promise<readonly [unknown, readonly string[]]> => {
    const { config, warnings } = await load(`status: ${written}\n${BOOKS}`, { env: ENV });
    return [config.status, warnings.map(({ line, column, key, message }) => `${line}:${column} ${key}: ${message}`)];
  };
  const remote =
    '1:17 status.host: the status page has no password, and other machines can read it at this address. Write 127.0.0.1, or add allowRemote: true to allow that.';
  expect(await status('{ host: 0.0.0.0 }')).toEqual([{ port: 9464, host: '0.0.0.0', names: [], allowRemote: false }, [remote]]);
  expect((await status('{ host: "::" }'))[1]).toHaveLength(1);
  expect(await status('{ host: 0.0.0.0, allowRemote: true, names: [Headgate.Internal] }')).toEqual([
    { port: 9464, host: '0.0.0.0', names: ['headgate.internal'], allowRemote: true },
    [],
  ]);
  for (const host of ['127.0.0.1', 'localhost', '"::1"']) expect((await status(`{ host: ${host} }`))[1]).toEqual([]);
  expect(await problemsOf(`status: { names: [a b, "c:1"] }\n${BOOKS}`, { env: ENV })).toEqual([
    "1:19 status.names[0]: isn't a host name. Write one such as headgate.internal.",
    "1:24 status.names[1]: isn't a host name. Write one such as headgate.internal.",
  ]);
});

test('a proxy is an address, or false for none', async () => {
  const proxyOf = async (written: string): Promise<string | undefined> =>
    booksOptions((await load(`${BOOKS}  proxy: ${written}\n`, { env: ENV })).config.pipelines)?.proxy?.();
  expect(await proxyOf('http://127.0.0.1:3128')).toBe('http://127.0.0.1:3128');
  expect(await proxyOf('false')).toBe('');
  expect(await problemsOf(`${BOOKS}  proxy: secret-5\n`, { env: ENV })).toEqual([
    "4:10 books.proxy: isn't a proxy address. Write, for example, http://proxy.example.com:3128, or false for none.",
  ]);
});

test('your own authority is read from its file', async () => {
  const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const { config } = await load(`${BOOKS}  ca: ca.pem\n`, { env: ENV, files: { 'ca.pem': pem } });
  expect(booksOptions(config.pipelines)?.ca).toBe(pem);
  expect(await problemsOf(`${BOOKS}  ca: ca.pem\n`, { env: ENV })).toEqual([
    "4:7 books.ca: doesn't exist. Paths are relative to this file.",
  ]);
  expect(await problemsOf(`${BOOKS}  ca: ca.pem\n`, { env: ENV, files: { 'ca.pem': 'x' } })).toEqual([
    '4:7 books.ca: has no PEM text with BEGIN CERTIFICATE. Write a path, such as ./ca.pem.',
  ]);
});
