import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import specifications from '@asyncapi/specs';
import { systemClock } from '@headgate/throttle';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { loadConfig } from '../config/config-folder.fixture.ts';
import { BOOKS, ENV, FOLLOWERS, configFolder } from '../config/config-folder.fixture.ts';
import { asyncapi, asyncapiDocument } from './asyncapi.ts';

const specification: object = specifications.schemas['3.0.0'];
// `meta: false`, because the specification already contains the meta-schema of JSON Schema.
const ajv = new Ajv({ strict: false, validateFormats: false, meta: false, validateSchema: false });
const isAsyncApi = ajv.compile(specification);

async function documentOf(yaml: string) {
  const { config } = await loadConfig({ cwd: await configFolder({ 'headgate.yaml': yaml }), env: ENV });
  const { topics, pipelines } = config;
  const definitions = pipelines.map(({ definition }) => definition);
  return asyncapiDocument({ topics, definitions }) as AsyncApi;
}

interface AsyncApi {
  readonly servers?: object;
  readonly channels: Readonly<Record<string, { readonly address: string; readonly bindings?: object }>>;
  readonly operations: Readonly<Record<string, object>>;
  readonly components: {
    readonly messages: Readonly<
      Record<string, { readonly payload: { readonly $ref: string }; readonly headers?: { readonly $ref: string } }>
    >;
    readonly schemas: Readonly<Record<string, object>>;
  };
}

const KAFKA = 'topics: { driver: kafka, brokers: ["a:1", "b:2"], ssl: true, prefix: prod., lanes: 2 }\n';

test.each([
  ['Kafka', `${KAFKA}${FOLLOWERS}${BOOKS}`],
  ['an embedded log', FOLLOWERS],
])('what it writes of %s is AsyncAPI 3, by its own JSON Schema', async (_, yaml) => {
  const document = await documentOf(yaml);
  isAsyncApi(document);
  expect(isAsyncApi.errors ?? []).toEqual([]);
  expect(isAsyncApi({ ...document, channels: { a: { address: 7 } } })).toBe(false);
});

test('it describes names, partitions, keys, headers and payloads of all configured topics, and no others', async () => {
  const { servers, channels, operations, components } = await documentOf(`${KAFKA}${FOLLOWERS}`);
  expect(servers).toEqual({ 'broker-1': { host: 'a:1', protocol: 'kafka-secure' }, 'broker-2': { host: 'b:2', protocol: 'kafka-secure' } });
  const topics = ['requests', 'pages', 'ids', 'changes', 'crawls', 'dead-letters', 'state'].map((name) => `followers.${name}`);
  expect(Object.keys(channels)).toEqual(topics);
  expect(channels['followers.ids']).toMatchObject({ address: 'prod.followers.ids', bindings: { kafka: { partitions: 2 } } });
  expect(Object.keys(operations).toSorted()).toEqual([
    'receive.followers.requests',
    ...['changes', 'crawls', 'dead-letters', 'ids', 'pages'].map((name) => `send.followers.${name}`),
  ]);
  expect(components.messages['followers.ids']?.payload).toEqual({ $ref: '#/components/schemas/FollowersIds' });
  expect(Object.keys(components.schemas)).toContain('FollowersDeadLettersHeaders');
  const takes = ajv.compile(components.schemas['FollowersIds'] ?? false);
  const record = { user: '@alpha', crawl: 'followers.requests-0-0', page: 1, id: '8882581338626179201' };
  expect([takes(record), takes({ ...record, id: 8_882_581_338 }), takes({ ...record, id: 'x' }), takes({ ...record, more: 1 })]).toEqual([
    true,
    false,
    false,
    true,
  ]);
  expect(components.messages['followers.pages']?.headers).toEqual({ $ref: '#/components/schemas/FollowersPagesHeaders' });
  expect(components.schemas['FollowersPagesHeaders']).toMatchObject({ properties: { ce_type: { const: 'headgate.followers.pages' } } });
});

test('without a configuration it has the built-in topics; one that is named or exists must be readable', async () => {
  const run = async (file: string, files: Readonly<Record<string, string>> = {}): Promise<string> => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const { signal } = new AbortController();
    const cwd = await configFolder(files);
    const code = await asyncapi({ file, cwd, env: {}, stdin, stdout, stderr, terminal: stderr, clock: systemClock(), signal, json: false });
    stdout.end();
    return `${code} ${await text(stdout)}`;
  };
  expect(await run('headgate.yaml')).toMatch(/^0 \{[^]*"books\.records"/u);
  await expect(run('other.yaml')).rejects.toThrow('other.yaml');
  await expect(run('headgate.yaml', { 'headgate.yaml': '#'.repeat(2 ** 22 + 1) })).rejects.toThrow('is larger than 4 MiB');
});
