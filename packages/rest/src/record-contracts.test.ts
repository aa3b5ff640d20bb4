import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDeadLetters, replayDeadLetters, start } from '@headgate/pipeline';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pageOf, startApi } from './api.fixture.ts';
import { type Section, bearer } from './list.fixture.ts';
import { rest } from './rest.ts';
import { sharedLog } from './shared-log.fixture.ts';

const shareOfLog = sharedLog();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-contracts-'));
});
afterAll(async () => await rm(folder, { recursive: true }));

const record = (fields: readonly object[]): string => JSON.stringify({ type: 'record', name: 'Issue', fields });
const kept = [
  { name: 'id', type: 'string' },
  { name: 'updated_at', type: 'string' },
];
/** A contract in each language, and a laxer one with the same key and time. */
const CONTRACTS = {
  'issue.avsc': [
    record([
      ...kept,
      { name: 'title', type: 'string' },
      { name: 'open', type: 'boolean' },
      { name: 'number', type: 'long' },
      { name: 'score', type: ['null', 'double'], default: null },
      { name: 'labels', type: { type: 'array', items: 'string' } },
      { name: 'user', type: { type: 'record', name: 'User', fields: [{ name: 'id', type: 'string' }] } },
    ]),
    record(kept),
  ],
  'issue.proto': [
    `syntax = "proto3";
message Issue {
  message User { string id = 1; }
  string id = 1;
  string updated_at = 2;
  string title = 3;
  bool open = 4;
  int64 number = 5;
  optional double score = 6;
  repeated string labels = 7;
  optional User user = 8;
}`,
    'syntax = "proto3"; message Issue { string id = 1; string updated_at = 2; }',
  ],
  'issue.schema.json': [
    JSON.stringify({
      type: 'object',
      properties: {
        id: { type: 'string' },
        title: { type: 'string' },
        open: { type: 'boolean' },
        number: { type: 'integer' },
        score: { type: 'number' },
        labels: { type: 'array', items: { type: 'string' } },
        user: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      },
      required: ['id', 'title', 'open', 'number', 'labels', 'user'],
    }),
    '{}',
  ],
} as const;
type File = keyof typeof CONTRACTS;

/** Ten ways to break the contracts, each with what its dead letter says. */
const BROKEN: readonly (readonly [change: object, flaw: RegExp])[] = [
  [{ title: null }, /\$\.title: expected a string, got null/],
  [{ title: undefined }, /\$\.title: expected a string, got nothing/],
  [{ title: 7 }, /\$\.title: expected a string, got a number/],
  [{ open: 'yes' }, /\$\.open: expected a bool(ean)?, got text/],
  [{ number: 1.5 }, /\$\.number: expected an? (int|int64|integer|long), got a number/],
  [{ score: '0.5' }, /\$\.score: expected (null or )?a (double|number), got text/],
  [{ labels: {} }, /\$\.labels: expected an? (array|list), got an object/],
  [{ labels: ['a', null] }, /\$\.labels\[1\]: expected a string, got null/],
  [{ user: 'me' }, /\$\.user: expected an? (object|record), got text/],
  [{ user: { id: null } }, /\$\.user\.id: expected a string, got null/],
];

const whole = (i: number) => ({
  id: String(i),
  updated_at: new Date(Date.UTC(2024, 0, 1) + i * 1_000).toISOString(),
  title: `issue ${i}`,
  open: i % 2 === 0,
  number: i,
  labels: ['a'],
  user: { id: `u${i}` },
});
/** A thousand records, of which 37 are broken: each way three or four times. */
const ITEMS = Array.from({ length: 1_000 }, (_, i) => ({ ...whole(i), ...(i % 27 === 5 ? BROKEN[((i - 5) / 27) % 10]?.[0] : {}) }));

async function place(file: File) {
  const share = shareOfLog();
  const api = await startApi({
    routes: {
      'GET /issues': ({ query }) => {
        const from = query.get('since') ?? '';
        return {
          body: pageOf(
            ITEMS.filter(({ updated_at }) => updated_at >= from),
            Number(query.get('page')),
            100,
          ),
        };
      },
    },
  });
  const path = join(folder, file);
  const names = (topic: string): string => share.topics.prefix + topic;
  const pipelineOf = () =>
    rest('tracker')({
      ...bearer,
      baseUrl: api.url,
      pages: { page: { query: 'page' }, size: { query: 'per_page', is: 100 } },
      streams: {
        issues: {
          get: '/issues',
          key: '$.id',
          schema: path,
          query: { since: '{since}' },
          since: { from: '$.updated_at', order: 'ascending' },
        },
      },
    });
  const where = { log: share.log, group: share.group, names, pipeline: 'tracker' };
  return {
    contract: async (index: 0 | 1) => await writeFile(path, CONTRACTS[file][index]),
    async run() {
      await using running = await start({ ...share, pipelines: [pipelineOf()] });
      const { failures, snapshot } = await running.done;
      expect(failures).toEqual([]);
      return snapshot.deadLetters.total;
    },
    letters: async () => await Array.fromAsync(openDeadLetters(where)),
    replay: async () => await replayDeadLetters({ ...where, requests: pipelineOf().requests }),
    ids: async () => (await Array.fromAsync(share.log.read({ topic: names('tracker.issues') }))).map(({ key }) => Number(key)),
    [Symbol.asyncDispose]: async () => await api[Symbol.asyncDispose](),
  };
}

it.each(Object.keys(CONTRACTS) as File[])(
  '%s: of 1,000 records, 37 that break it in ten ways become dead letters with their places, and a replay with a mended contract writes them once',
  async (file) => {
    await using at = await place(file);
    await at.contract(0);
    expect(await at.run()).toBe(37);
    expect(await at.ids()).toHaveLength(963);
    const messages = (await at.letters()).map(({ message }) => message);
    for (const [, flaw] of BROKEN) expect(messages.filter((message) => flaw.test(message)).length).toBeGreaterThanOrEqual(3);
    expect(messages.filter((message) => BROKEN.some(([, flaw]) => flaw.test(message)))).toHaveLength(37);
    await at.contract(1);
    expect(await at.replay()).toEqual({ replayed: 37, left: 0 });
    expect(await at.run()).toBe(0);
    expect((await at.ids()).toSorted((one, other) => one - other)).toEqual(ITEMS.map((_, i) => i));
    expect(await at.letters()).toEqual([]);
  },
);

it('a JSON Schema takes integers beyond 2^53, up to its own maximum, and they are written with their digits', async () => {
  const share = shareOfLog();
  const listed = ['9223372036854775807', '-9223372036854775808', '1e300', 'null', '7.5'];
  await using api = await startApi({
    routes: { 'GET /issues': () => ({ body: `[${listed.map((id, i) => `{"i":"${i}","id":${id}}`).join()}]` }) },
  });
  const path = join(folder, 'integers.schema.json');
  const id = { type: ['integer', 'null'], maximum: 1e30 };
  await writeFile(path, JSON.stringify({ type: 'object', properties: { id, other: { type: 'integer' } } }));
  const pipeline = rest('tracker')({ ...bearer, baseUrl: api.url, streams: { issues: { get: '/issues', key: '$.i', schema: path } } });
  await using running = await start({ ...share, pipelines: [pipeline] });
  expect((await running.done).snapshot.deadLetters.total).toBe(2);
  const written = await Array.fromAsync(share.log.read({ topic: `${share.topics.prefix}tracker.issues` }), ({ value }) => value);
  expect(written).toEqual(['{"i":"0","id":9223372036854775807}', '{"i":"1","id":-9223372036854775808}', '{"i":"3","id":null}']);
  expect(JSON.stringify(pipeline.topics['issues']?.value.meta())).not.toContain('9007199254740991');
});

it('members that a stream adds belong to the contract of what is written', async () => {
  const share = shareOfLog();
  await using api = await startApi({ routes: { 'GET /orgs/{org}/issues': () => ({ body: [{ id: '1' }] }) } });
  const path = join(folder, 'added.avsc');
  await writeFile(
    path,
    record([
      { name: 'id', type: 'string' },
      { name: 'org', type: 'string' },
    ]),
  );
  const issues = { get: '/orgs/{org}/issues', for: { org: ['a'] }, add: { org: '{org}' }, key: '$.id', schema: path };
  await using running = await start({ ...share, pipelines: [rest('tracker')({ ...bearer, baseUrl: api.url, streams: { issues } })] });
  expect((await running.done).snapshot.deadLetters.total).toBe(0);
  const [written] = await Array.fromAsync(share.log.read({ topic: `${share.topics.prefix}tracker.issues` }));
  expect(written?.value).toBe('{"id":"1","org":"a"}');
});

it.each([
  ['issue.avsc', '{', "isn't JSON. Write an Avro schema into it."],
  ['issue.avsc', '{"type":"nothing"}', "isn't a supported Avro schema: "],
  ['issue.proto', 'message', "isn't a supported .proto file: "],
  ['issue.schema.json', '{', "isn't JSON. Write a JSON Schema into it."],
])('a contract %s with %s is refused', async (file, text, words) => {
  await writeFile(join(folder, file), text);
  const stream = { get: '/issues', schema: join(folder, file) };
  expect(() => rest('tracker')({ ...bearer, baseUrl: 'http://127.0.0.1:1', streams: { issues: stream } })).toThrow(words);
});

type Stream = NonNullable<Section['streams']>[string];
it.each<readonly [given: Partial<Stream>, other: Partial<Stream> | undefined, words: string | undefined]>([
  [{ format: 'avro', schema: 'issue.avsc' }, undefined, undefined],
  [{ format: 'json-schema' }, undefined, undefined],
  [{ schema: 'issue.avsc' }, undefined, undefined],
  [{ format: 'avro' }, undefined, 'streams.issues.format: is avro, which needs a schema of that kind. Write schema: ./issues.avsc'],
  [
    { format: 'protobuf', schema: 'issue.avsc' },
    undefined,
    'streams.issues.format: is protobuf, which needs a schema of that kind. Write schema: ./issues.proto',
  ],
  [{ format: 'json-schema', schema: 'issue.avsc' }, undefined, 'needs a schema of that kind. Write schema: ./issues.schema.json'],
  [{ format: 'avro', schema: 'issue.avsc' }, { format: 'json' }, 'must be those of other, which writes to the same topic'],
])('a stream with %o beside one with %o', async (given, other, words) => {
  for (const file of ['issue.avsc', 'issue.proto'] as const) await writeFile(join(folder, file), CONTRACTS[file][0]);
  const located = (stream: Partial<Stream>): Stream => ({
    get: '/issues',
    ...stream,
    ...(stream.schema !== undefined && { schema: join(folder, stream.schema) }),
  });
  const streams = { issues: located(given), ...(other !== undefined && { other: { ...located(other), to: 'issues' } }) };
  const made = () => rest('tracker')({ ...bearer, baseUrl: 'http://127.0.0.1:1', streams }).topics['issues']?.format ?? 'json';
  const outcome = ((): string => {
    try {
      return made();
    } catch (error) {
      return (error as Error).message;
    }
  })();
  expect(outcome).toContain(words ?? given.format ?? 'json');
});
