import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RecordMakers, type TopicFormat, definePipeline, start, topic, walk } from '@headgate/pipeline';
import { cursorParameter, defineSource } from '@headgate/sources';
import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import { decodedLog } from './decoded-log.ts';
import { type RegistryEmulator, startRegistryEmulator } from './registry-emulator.fixture.ts';
import { schemaRegistry } from './registry.ts';
import { codecsOf, withRegistry } from './with-registry.ts';

let folder: string;
let log: TopicLog;
let emulator: RegistryEmulator;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-registry-'));
  log = await sqliteTopicLog({ file: join(folder, 'log.db') });
  emulator = await startRegistryEmulator();
});
afterEach(async () => {
  await log.close();
  await emulator[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const issue = z.object({ id: z.string(), page: z.int(), score: z.number().optional(), tags: z.array(z.string()), any: z.json() });
const AVSC = JSON.stringify({ type: 'record', name: 'Own', fields: [{ name: 'n', type: 'long' }] });

const TOPICS = {
  issues: topic({ value: issue }),
  plain: topic({ value: z.unknown(), format: 'json' }),
  own: topic({ value: z.unknown(), format: 'avro', schema: AVSC }),
  series: topic({ value: z.object({ id: z.string() }) }),
};

/** Writes three records in three topics: one from `value`, one with an own schema, and a series. */
const tracker = (wrong = false) =>
  definePipeline({
    name: 'my-tracker',
    options: z.strictObject({ any: z.string().optional() }),
    request: z.strictObject({ repo: z.string() }),
    topics: TOPICS,
    keyOf: ({ repo }) => repo,
    listed: () => [{ repo: 'a' }],
    open: () =>
      walk({
        source: oneAnswer(),
        paging: ({ repo }: { readonly repo: string }) => cursorParameter({ query: () => repo, next: () => undefined }),
        *records(_: object, { key, topics }: { readonly key: string; readonly topics: RecordMakers<typeof TOPICS> }) {
          yield topics.issues({ key, value: { id: '18446744073709551615', page: 1, tags: ['x'], any: { deep: [1] } } });
          yield topics.plain({ key, value: { any: 1 } });
          yield topics.own({ key, value: { n: wrong ? 'one' : 2 } });
          yield topics.series.series({ key, count: 2, before: '{"id":"', textAt: String, after: '"}' });
        },
      }),
  });

function oneAnswer() {
  return defineSource<string, object>({
    service: 'tracker',
    limit: { requests: 100, windowMs: 100 },
    toRequest: () => ({ path: '/schemas/ids/none' }),
    classify: () => ({ kind: 'ok', value: {} }),
  })({ baseUrl: emulator.url, credentials: [{ name: 'app', signer: { sign: () => ({ authorization: 'x' }) } }] });
}

async function ran(format: TopicFormat, wrong = false) {
  const registry = schemaRegistry({ url: emulator.url });
  await using running = await start({ log, pipelines: [withRegistry(tracker(wrong)({ format }), registry)] });
  return (await running.done).snapshot.deadLetters.total;
}

async function read(from: TopicLog, name: string): Promise<unknown[]> {
  return Array.from(await Array.fromAsync(from.readBytes({ topic: `my-tracker.${name}` })), ({ value }) =>
    Buffer.from(value ?? []).toString(),
  );
}

it.each(['avro', 'protobuf', 'json-schema'] as const)(
  'all topics of a pipeline are written as %s, but those with a format of their own',
  async (format) => {
    expect(await ran(format)).toBe(0);
    const decoded = decodedLog(log, schemaRegistry({ url: emulator.url }));
    const any = format === 'json-schema' ? { deep: [1] } : '{"deep":[1]}';
    const [first = ''] = await read(decoded, 'issues');
    expect(JSON.parse(String(first))).toMatchObject({ id: '18446744073709551615', page: 1, tags: ['x'], any });
    expect(await read(decoded, 'plain')).toEqual(['{"any":1}']);
    expect(await read(decoded, 'own')).toEqual(['{"n":2}']);
    expect(await read(decoded, 'series')).toEqual(['{"id":"0"}', '{"id":"1"}']);
    expect(await read(log, 'own')).toEqual([expect.stringMatching(/^\0\0\0\0./)]);
    // Jobs stay JSON.
    expect(await read(log, 'requests')).toEqual(['{"repo":"a"}']);
    const [record] = await Array.fromAsync(log.readBytes({ topic: 'my-tracker.issues' }));
    expect(Buffer.from(record?.headers['content-type'] ?? []).toString()).toBe('application/octet-stream');
    expect(
      emulator.requests
        .map(({ line }) => line)
        .filter((line) => line.endsWith('/versions'))
        .toSorted(),
    ).toEqual([
      'POST /subjects/my-tracker.issues-value/versions',
      'POST /subjects/my-tracker.own-value/versions',
      'POST /subjects/my-tracker.series-value/versions',
    ]);
  },
);

it('a decoded log does everything else as the log that it reads', async () => {
  await ran('avro');
  const decoded = decodedLog(log, schemaRegistry({ url: emulator.url }));
  await decoded.append([{ topic: 'my-tracker.plain', key: 'k', value: null }]);
  const reader = decoded.readBytes({ topic: 'my-tracker.plain', group: 'mine' });
  for await (const record of reader) await reader.commit(record);
  expect(await decoded.groupOffset({ topic: 'my-tracker.plain', partition: 0, group: 'mine' })).toBe(2);
});

it('a record that does not fit its own schema becomes a dead letter with the place', async () => {
  expect(await ran('json', true)).toBe(1);
  const [letter] = await read(log, 'dead-letters');
  expect(letter).toContain('$.n: expected a long, got text');
});

it('a run refuses a format without a registry, and a registry that refuses, before it sends a request', async () => {
  await expect(start({ log, pipelines: [tracker()({})] })).rejects.toThrow(
    'my-tracker.own: the format avro needs a schema registry. Pass the pipeline through withRegistry of @headgate/registry.',
  );
  emulator.failing = { status: 409, body: '{"message":"id is gone"}' };
  await expect(ran('avro')).rejects.toThrow(
    /^my-tracker\.\w+: opening its serializer failed: The schema registry at .* isn't compatible with the earlier ones of my-tracker\.\w+-value/,
  );
  expect(await log.listTopics()).toEqual([]);
});

it('a JSON Schema says its version, and permits further members unless its author forbids them', () => {
  const value = z.object({ a: z.strictObject({ b: z.string() }) });
  const { schema = '' } = codecsOf({ name: 'x', topics: { y: topic({ value, format: 'json-schema' }) } }).get('y') ?? {};
  expect(JSON.parse(schema)).toEqual({
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'XY',
    type: 'object',
    properties: { a: { type: 'object', properties: { b: { type: 'string' } }, required: ['b'], additionalProperties: false } },
    required: ['a'],
  });
});

it('a schema that cannot be used is an error with its topic', () => {
  const pipeline = { name: 'a', topics: { b: topic({ value: z.unknown(), format: 'avro', schema: '{"type":"nothing"}' }) } };
  expect(() => codecsOf(pipeline)).toThrow(/^a\.b: its schema can't be used: .*nothing/);
});

it('names, nullable members and lists have their form in both languages', () => {
  const value = z.object({
    user: z.object({ id: z.string().nullable() }),
    list: z.array(z.object({ ok: z.boolean().optional() })),
    nested: z.array(z.array(z.string())),
    state: z.enum(['open', 'closed']),
    either: z.union([z.string(), z.number()]),
    none: z.null().optional(),
  });
  const schemaOf = (format: 'avro' | 'protobuf') =>
    codecsOf({ name: 'my-tracker', topics: { 'some-issues': topic({ value, format }) } }).get('some-issues')?.schema;
  expect(schemaOf('protobuf')).toMatchInlineSnapshot(`
    "syntax = "proto3";

    message MyTrackerSomeIssues {
      message MyTrackerSomeIssuesUser {
        optional string id = 1;
      }
      MyTrackerSomeIssuesUser user = 1;
      message MyTrackerSomeIssuesListItem {
        optional bool ok = 1;
      }
      repeated MyTrackerSomeIssuesListItem list = 2;
      string nested = 3;
      string state = 4;
      string either = 5;
      optional string none = 6;
    }
    "
  `);
  expect(JSON.stringify(JSON.parse(schemaOf('avro') ?? ''))).toMatchInlineSnapshot(
    `"{"type":"record","name":"MyTrackerSomeIssues","fields":[{"name":"user","type":{"type":"record","name":"MyTrackerSomeIssuesUser","fields":[{"name":"id","type":["null","string"],"default":null}]}},{"name":"list","type":{"type":"array","items":{"type":"record","name":"MyTrackerSomeIssuesListItem","fields":[{"name":"ok","type":["null","boolean"],"default":null}]}}},{"name":"nested","type":"string"},{"name":"state","type":"string"},{"name":"either","type":"string"},{"name":"none","type":["null","string"],"default":null}]}"`,
  );
});
