import { expect, test } from 'vitest';
import type { Config } from './config.ts';
import { BOOKS, ENV, load, problemsOf } from './config-folder.fixture.ts';

const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const KEY_PEM = '-----BEGIN PRIVATE KEY-----\nsecret-8\n-----END PRIVATE KEY-----\n';

async function topics(written: string, files: Record<string, string> = {}): Promise<Config['topics']> {
  return (await load(`topics: ${written}\n${BOOKS}`, { env: { ...ENV, BROKERS: 'a:1,b.example.com:2' }, files })).config.topics;
}

test('kafka with its defaults', async () => {
  expect(await topics('{ driver: kafka, brokers: [127.0.0.1:9092, "[::1]:9093"] }')).toEqual({
    driver: 'kafka',
    brokers: ['127.0.0.1:9092', '[::1]:9093'],
    clientId: 'headgate',
    group: 'headgate',
    lanes: 1,
    replication: 3,
    settings: {},
    compression: 'gzip',
    ssl: false,
    prefix: '',
    names: {},
  });
});

test('a NUL in the file of the log is reported, because the system would end the path there', async () => {
  expect(await problemsOf(`topics: { file: "a\\0.db" }\n${BOOKS}`, { env: ENV })).toEqual([
    "1:17 topics.file: has a NUL character, which a path can't contain. Remove it.",
  ]);
});

test('brokers may come from one variable', async () => {
  expect(await topics('{ driver: kafka, brokers: "${BROKERS}" }')).toMatchObject({ brokers: ['a:1', 'b.example.com:2'] });
  expect(await topics('{ driver: kafka, brokers: ["${BROKERS}", c:3] }')).toMatchObject({ brokers: ['a:1', 'b.example.com:2', 'c:3'] });
});

test('a variable chooses among alternatives as its text would', async () => {
  const written = '{ driver: "${DRIVER}", brokers: [a:1], sasl: { mechanism: "${MECHANISM}", tokenFile: ./token } }';
  const env = { ...ENV, DRIVER: 'kafka', MECHANISM: 'oauthbearer' };
  const { config } = await load(`topics: ${written}\n${BOOKS}`, { env, files: { token: 'a.b.c' } });
  expect(config.topics).toMatchObject({ sasl: { mechanism: 'oauthbearer', tokenFile: expect.stringMatching(/^\/.*\/token$/) as string } });
});

test('ssl and sasl', async () => {
  const config = await topics(
    `{ driver: kafka, brokers: [a:1], compression: zstd, replication: 1, ssl: { ca: ca.pem, cert: c.pem, key: k.pem }, sasl: { mechanism: plain, username: u, password: "\${KEY}" } }`,
    { 'ca.pem': CERTIFICATE, 'c.pem': CERTIFICATE, 'k.pem': KEY_PEM },
  );
  expect(config).toMatchObject({ compression: 'zstd', replication: 1, sasl: { mechanism: 'plain', username: 'u' } });
  const { ssl, sasl } = config.driver === 'kafka' ? config : {};
  expect(typeof ssl === 'object' ? [ssl.ca, ssl.cert, ssl.key?.()] : ssl).toEqual([CERTIFICATE, CERTIFICATE, KEY_PEM]);
  expect(sasl?.mechanism === 'plain' ? sasl.password() : sasl).toBe('key-value-2');
  expect(JSON.stringify(config)).not.toContain('secret-8');
});

test.each([
  ['{ driver: kafak }', ["1:19 topics.driver: isn't known. Did you mean kafka?"]],
  ['{ driver: postgres, dsn: x }', ["1:19 topics.driver: isn't known. Write sqlite or kafka."]],
  ['{ driver: kafka }', ['1:1 topics.brokers: is missing. Write [127.0.0.1:9092].']],
  ['{ driver: kafka, brokers: [a] }', ["1:36 topics.brokers[0]: isn't host:port. Write, for example, 127.0.0.1:9092."]],
  ['{ driver: kafka, brokers: [a:70000] }', ["1:36 topics.brokers[0]: isn't host:port. Write, for example, 127.0.0.1:9092."]],
  [
    '{ driver: kafka, brokers: [a:1], file: x }',
    [
      '1:42 topics.file: unknown key. Known keys: driver, brokers, group, lanes, prefix, names, clientId, replication, settings, compression, ssl, sasl, registry.',
    ],
  ],
  ['{ driver: kafka, brokers: [a:1], ssl: { cert: c.pem } }', ["1:55 topics.ssl.cert: doesn't exist. Paths are relative to this file."]],
  ['{ driver: kafka, brokers: [a:1], ssl: yes }', ['1:47 topics.ssl: must be true or false or a mapping of keys to values. Write true.']],
  [
    '{ driver: kafka, brokers: [a:1], sasl: { mechanism: scram, username: u, password: x } }',
    ["1:61 topics.sasl.mechanism: isn't known. Write plain, scram-sha-256, scram-sha-512 or oauthbearer."],
  ],
  ['{ driver: kafka, brokers: [a:1], sasl: { username: u, token: x } }', ['1:42 topics.sasl.mechanism: is missing. Write plain.']],
  [
    '{ driver: kafka, brokers: [a:1], sasl: { mechanism: SCRAM-SHA-512 } }',
    ["1:61 topics.sasl.mechanism: isn't known. Did you mean scram-sha-512?"],
  ],
  [
    '{ driver: kafka, brokers: [a:1], sasl: { mechanism: plain, username: u, password: "${KEY}", token: x, tokenFile: y } }',
    [
      '1:101 topics.sasl.token: unknown key. Known keys: mechanism, username, password.',
      '1:111 topics.sasl.tokenFile: unknown key. Known keys: mechanism, username, password.',
    ],
  ],
  [
    '{ driver: kafka, brokers: [a:1], sasl: { mechanism: oauthbearer, username: u, password: p, token: "${KEY}" } }',
    [
      '1:74 topics.sasl.username: unknown key. Known keys: mechanism, token, tokenFile.',
      '1:87 topics.sasl.password: unknown key. Known keys: mechanism, token, tokenFile.',
    ],
  ],
  [
    '{ driver: kafka, brokers: [a:1], sasl: { mechanism: oauthbearer } }',
    ['1:48 topics.sasl: needs token or tokenFile. Write token: "${KAFKA_TOKEN}", or tokenFile: ./token.'],
  ],
  [
    '{ driver: kafka, brokers: [a:1], sasl: { mechanism: oauthbearer, token: "${KEY}", tokenFile: ./token } }',
    [
      "1:102 topics.sasl.tokenFile: doesn't exist. Paths are relative to this file.",
      "1:102 topics.sasl.tokenFile: can't be combined with token. Keep one of them.",
    ],
  ],
  [
    '{ driver: kafka, brokers: [a:1], sasl: { mechanism: oauthbearer, token: "not one" } }',
    ["1:81 topics.sasl.token: has a character that tokens can't contain. Copy it again."],
  ],
  [
    '{ driver: kafka, brokers: [a:1], sasl: { mechanism: oauthbearer, token: Bearer x } }',
    ['1:81 topics.sasl.token: starts with the word Bearer, which Headgate adds itself. Remove it.'],
  ],
  ['{ lanes: 0 }', ['1:18 topics.lanes: "0" must be 1 or more.']],
  ['{ group: a b }', ['1:18 topics.group: isn\'t a valid name. Write up to 100 letters, digits, ".", "_" and "-", such as headgate.']],
  ['', ['1:9 topics: has no value. Write { driver: sqlite, file: ./headgate.db }, or remove the key.']],
  ['sqlite', ['1:9 topics: must be a mapping of keys to values. Write { driver: sqlite, file: ./headgate.db }.']],
])('topics: %s is refused', async (written, problems) => {
  expect(await problemsOf(`topics: ${written}\n${BOOKS}`, { env: ENV })).toEqual(problems);
});

test('a token, or the file it is read from', async () => {
  const given = await topics('{ driver: kafka, brokers: [127.0.0.1:1], sasl: { mechanism: oauthbearer, token: "${KEY}" } }');
  const { sasl } = given.driver === 'kafka' ? given : {};
  expect(sasl !== undefined && 'token' in sasl ? sasl.token() : sasl).toBe('key-value-2');
  expect(JSON.stringify(given)).not.toContain('key-value-2');
  const written = '{ driver: kafka, brokers: [127.0.0.1:1], sasl: { mechanism: oauthbearer, tokenFile: ./token } }';
  expect(await topics(written, { token: 'a.b.c\n' })).toMatchObject({
    sasl: { mechanism: 'oauthbearer', tokenFile: expect.stringMatching(/^\/.*\/token$/) },
  });
});

test.each(['', 'a b', 'a.b.c\nsecond-secret'])('a file with %j in it holds no token', async (token) => {
  const written = '{ driver: kafka, brokers: [a:1], sasl: { mechanism: oauthbearer, tokenFile: ./token } }';
  expect(await problemsOf(`topics: ${written}\n${BOOKS}`, { env: ENV, files: { token } })).toEqual([
    '1:85 topics.sasl.tokenFile: names a file without a valid token. Write the token into it, and nothing else.',
  ]);
});

const PLAIN = 'sasl: { mechanism: plain, username: u, password: "${KEY}" }';
const BEARER = 'sasl: { mechanism: oauthbearer, token: "${KEY}" }';

test.each([
  [`brokers: [a:1], ${PLAIN}`, 'without ssl, the password crosses the network in clear text. Write ssl: true.'],
  [`brokers: [127.0.0.1:1, a:1], ssl: false, ${PLAIN}`, 'without ssl, the password crosses the network in clear text. Write ssl: true.'],
  [`brokers: [127.0.0.1.example.com:1], ${BEARER}`, 'without ssl, the token crosses the network in clear text. Write ssl: true.'],
  [`brokers: [a:1], ssl: true, ${PLAIN}`, undefined],
  [`brokers: [127.0.0.1:1, localhost:2, "[::1]:3"], ${PLAIN}`, undefined],
  [`brokers: [a:1], sasl: { mechanism: scram-sha-512, username: u, password: "\${KEY}" }`, undefined],
])('secrets in clear text are warned about: %s', async (written, warning) => {
  const { warnings } = await load(`topics: { driver: kafka, ${written} }\n${BOOKS}`, { env: ENV });
  expect(warnings.map(({ key, message }) => [key, message])).toEqual(warning === undefined ? [] : [['topics.sasl.mechanism', warning]]);
});

test.each([
  ['status: true', '4:9 status: must be false or a mapping of keys to values. Write { port: 9464, host: 127.0.0.1 }.'],
  ['status: { port: 65536 }', '4:17 status.port: "65536" must be 65535 or less.'],
  ['status: { prot: 1 }', '4:11 status.prot: unknown key. Did you mean port?'],
])('%s is refused', async (line, problem) => {
  expect(await problemsOf(`${BOOKS}${line}\n`, { env: ENV })).toEqual([problem]);
});

test('settings of single topics, as numbers or texts', async () => {
  const settings = '{ books.records: { retention.ms: 604800000, retention.bytes: "-1", compression.type: zstd } }';
  expect(await topics(`{ driver: kafka, brokers: [a:1], settings: ${settings} }`)).toMatchObject({
    settings: { 'books.records': { 'retention.ms': '604800000', 'retention.bytes': '-1', 'compression.type': 'zstd' } },
  });
});

test.each([
  ['{ books.record: { retention.ms: 1 } }', "topics.settings.books.record: isn't a topic of these pipelines. Did you mean books.records?"],
  [
    '{ books.records: { cleanup.policy: compact } }',
    'topics.settings.books.records.cleanup.policy: follows from compact of a stream, or compacted of a topic in code. Remove it.',
  ],
  [
    '{ books.records: { message.timestamp.type: CreateTime } }',
    'topics.settings.books.records.message.timestamp.type: is always LogAppendTime. Remove it.',
  ],
])('settings of topics: %s is refused', async (written, words) => {
  const problems = await problemsOf(`topics: { driver: kafka, brokers: [a:1], settings: ${written} }\n${BOOKS}`, { env: ENV });
  expect(problems).toEqual([expect.stringContaining(words)]);
});

test('a schema registry, whose secrets are never shown', async () => {
  const registry = '{ url: "http://127.0.0.1:8081/apis/", user: me, password: "${TOKEN}", ca: ./ca.pem }';
  const found = await topics(`{ driver: kafka, brokers: [a:1], registry: ${registry} }`, { 'ca.pem': CERTIFICATE });
  expect(found).toMatchObject({ registry: { url: 'http://127.0.0.1:8081/apis', user: 'me', ca: CERTIFICATE, register: true } });
  expect(JSON.stringify(found)).not.toContain(ENV['TOKEN']);
});

test.each([
  ['url: "http://me:secret-7@a:1"', 'contains a user name or password'],
  ['url: "http://a:1", user: me', 'topics.registry.user: needs password, too. Write both or neither.'],
  ['url: "http://a:1", password: "${TOKEN}"', 'topics.registry.password: uses ${TOKEN}, which needs user, too. Write both or neither.'],
  [
    'url: "http://a:1", user: me, password: "${TOKEN}", bearer: "${TOKEN}"',
    "topics.registry.bearer: uses ${TOKEN}, which can't be combined with user. Keep one of them.",
  ],
])('a registry with { %s } is refused', async (written, words) => {
  const [problem, ...others] = await problemsOf(`topics: { driver: kafka, brokers: [a:1], registry: { ${written} } }\n${BOOKS}`, {
    env: ENV,
  });
  expect(problem).toContain(words);
  expect([problem, others].join()).not.toContain('secret-7');
});

test.each([
  ['{ file: ./a.db }', 'books.format: needs Kafka with a schema registry: the embedded log has only JSON. Remove it.'],
  [
    '{ driver: kafka, brokers: [a:1] }',
    'books.format: needs a schema registry. Write topics: { registry: { url: http://127.0.0.1:8081 } }.',
  ],
])('a format is refused in a log without a registry: %s', async (written, words) => {
  const [problem, ...others] = await problemsOf(`topics: ${written}\n${BOOKS}\n  format: avro\n`, { env: ENV });
  expect(problem).toContain(words);
  expect(others).toEqual([]);
});

test('a registry takes the formats of sections', async () => {
  const kafka = 'topics: { driver: kafka, brokers: [a:1], registry: { url: "http://127.0.0.1:1" } }';
  const { config } = await load(`${kafka}\n${BOOKS}\n  format: avro\n`, { env: ENV });
  expect(config.pipelines[0]?.topics['records']).toMatchObject({ format: 'avro' });
});

test.each([
  ['http://registry.example.com', 'password: "${TOKEN}", user: me', 1],
  ['http://registry.example.com', 'bearer: "${TOKEN}"', 1],
  ['https://registry.example.com', 'bearer: "${TOKEN}"', 0],
  ['http://127.0.0.1:1', 'bearer: "${TOKEN}"', 0],
  ['http://registry.example.com', 'register: false', 0],
])('a warning if a secret would cross a network in clear text: %s with %s', async (url, more, count) => {
  const { warnings } = await load(`topics: { driver: kafka, brokers: [a:1], registry: { url: "${url}", ${more} } }\n${BOOKS}`, {
    env: ENV,
  });
  expect(warnings.filter(({ message }) => message.includes('crosses the network in clear text'))).toHaveLength(count);
});
