import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { systemClock } from '@headgate/throttle';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { BOOKS, configFolder } from '../config/config-folder.fixture.ts';
import { recordJsonSchema } from '../records/schemas.ts';
import { schemaOfTopic } from './schema.ts';

async function schemaIn(files: Readonly<Record<string, string>>, topic: string): Promise<unknown> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const { signal } = new AbortController();
  const stdin = new PassThrough();
  const cwd = await configFolder(files);
  const world = { file: 'headgate.yaml', cwd, env: {}, stdin, stdout, stderr, terminal: stderr, clock: systemClock(), signal, json: false };
  await schemaOfTopic(topic, world);
  stdout.end();
  return JSON.parse(await text(stdout));
}

test('of a built-in topic, even without a configuration', async () => {
  expect(await schemaIn({}, 'followers.ids')).toEqual({ title: 'followers.ids', ...recordJsonSchema('followers.ids') });
  expect(JSON.stringify(recordJsonSchema('followers.ids'))).not.toContain('9007199254740991');
});

test('of requests: the values that other clients may write', async () => {
  const schema = await schemaIn({}, 'followers.requests');
  expect(schema).toMatchObject({ properties: { screenName: { type: 'string' }, userId: { type: 'string' } } });
  const takes = new Ajv2020({ strict: false }).compile(schema as object);
  const verdicts = [{ screenName: '@a' }, { userId: '12' }, {}, { screenname: 'a' }, { userId: 'abc' }, { screenName: 'a', userId: '1' }];
  expect(verdicts.map((request) => takes(request))).toEqual([true, true, false, false, false, false]);
});

test('by its name on the log, even without secrets', async () => {
  const files = { 'headgate.yaml': `topics: { prefix: prod. }\n${BOOKS}` };
  for (const name of ['books.missing', 'prod.books.missing'])
    expect(await schemaIn(files, name)).toMatchObject({ title: 'prod.books.missing', required: ['isbn'] });
  await expect(schemaIn(files, 'books.state')).rejects.toThrow(
    /^schema: there is no topic "books\.state"\. There are: .*prod\.books\.records/,
  );
});

test('of a stream: its schema, or what its section says about the records', async () => {
  const streams = `
    items: { get: "/{of}/items", for: { of: [a] }, records: "$.items[*]", key: $.id, add: { of: "{of}" }, schema: ./item.json }
    parts: { get: /parts, records: "$.parts[*]", key: [$.owner.id, $.id], since: { from: $.changed } }`;
  const yaml = `shop:\n  use: rest\n  baseUrl: http://127.0.0.1:9\n  credentials: [{ name: a }]\n  limit: { requests: 5, window: 1s }\n  streams:${streams}\n`;
  const item = '{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}';
  const files = { 'headgate.yaml': yaml, 'item.json': item };
  expect(await schemaIn(files, 'shop.items')).toMatchObject({
    title: 'shop.items',
    type: 'object',
    properties: { id: { type: 'string' }, of: { description: 'Added by Headgate.' } },
    required: ['id'],
  });
  expect(await schemaIn(files, 'shop.parts')).toEqual({
    title: 'shop.parts',
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    description:
      'Record of GET /parts, at $.parts[*], as the service sends it. To describe its other members, name a JSON Schema: schema: ./parts.schema.json',
    properties: {
      owner: { description: 'Contains the key: $.owner.id.' },
      id: { description: 'Contains the key: $.id.' },
      changed: { description: 'Contains the time of the change: $.changed.' },
    },
  });
});
