import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseUntouched } from '@headgate/sources';
import { expect, it } from 'vitest';
import { inferredSchema } from './infer-schema.ts';
import { schemaFile } from './record-schema.ts';

const inferred = (...records: readonly string[]) => inferredSchema(records.map((text) => parseUntouched(text)));

/** What `headgate schema` and a registry say of a stream with this schema. */
async function published(schema: object): Promise<object> {
  return await withFile(schema, (file) => schemaFile.parse(file).jsonSchema);
}

/** The flaw that a stream with the inferred schema finds in another record. */
async function flawOf(schema: object, record: string): Promise<string | undefined> {
  return await withFile(schema, (file) => schemaFile.parse(file).flaw(parseUntouched(record)));
}

async function withFile<Value>(schema: object, use: (file: string) => Value): Promise<Value> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-infer-'));
  try {
    const file = join(folder, 'issue.schema.json');
    await writeFile(file, JSON.stringify(schema));
    return use(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

it('members that some records lack are optional, and those with null can be null', () => {
  const { schema, guesses } = inferred(
    '{"id":1,"title":"a","closed_at":null,"user":{"id":7}}',
    '{"id":2,"title":"b","closed_at":"2024-01-01T10:00:00Z","user":{"id":8,"name":"x"},"labels":["l"]}',
    '{"id":3,"title":"c","closed_at":"2024-01-01T10:00:00+02:00","user":null,"labels":[]}',
  );
  expect(schema).toEqual({
    type: 'object',
    properties: {
      id: { type: 'integer' },
      title: { type: 'string' },
      closed_at: { type: ['string', 'null'], format: 'date-time' },
      user: {
        anyOf: [{ type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } }, required: ['id'] }, { type: 'null' }],
      },
      labels: { type: 'array', items: { type: 'string' } },
    },
    required: ['id', 'title', 'closed_at', 'user'],
  });
  expect(guesses).toEqual([
    'format date-time, as all of these texts have it: $.closed_at',
    'optional, as some lack it: $.user.name (1 of 2), $.labels (1 of 3)',
  ]);
});

it.each([
  ['{"v":1}', '{"v":2.5}', { type: 'number' }],
  ['{"v":1}', '{"v":1.0}', { type: 'number' }],
  ['{"v":1e3}', '{"v":1}', { type: 'number' }],
  ['{"v":9007199254740991}', '{"v":-9007199254740991}', { type: 'integer' }],
  ['{"v":9007199254740992}', '{"v":1}', { type: 'integer', format: 'int64' }],
  ['{"v":-9223372036854775808}', '{"v":1}', { type: 'integer', format: 'int64' }],
  ['{"v":18446744073709551615}', '{"v":1}', { type: 'integer', format: 'uint64' }],
  ['{"v":9223372036854775808}', '{"v":1}', { type: 'integer', format: 'uint64' }],
  ['{"v":9223372036854775807}', '{"v":-1}', { type: 'integer', format: 'int64' }],
  ['{"v":18446744073709551615}', '{"v":-1}', { type: 'integer' }],
  ['{"v":18446744073709551616}', '{"v":null}', { type: ['integer', 'null'] }],
  ['{"v":"2024-01-01"}', '{"v":"2024-02-29"}', { type: 'string', format: 'date' }],
  ['{"v":"2024-01-01"}', '{"v":"2024-02-30"}', { type: 'string' }],
  ['{"v":"2024-01-01"}', '{"v":""}', { type: 'string' }],
  ['{"v":"550e8400-e29b-41d4-a716-446655440000"}', '{"v":null}', { type: ['string', 'null'], format: 'uuid' }],
  ['{"v":"https://a.b/c?d=e"}', '{"v":"http://a.b"}', { type: 'string', format: 'uri' }],
  ['{"v":"note:x"}', '{"v":"urn:y"}', { type: 'string' }],
  ['{"v":"open"}', '{"v":"open"}', { type: 'string' }],
  ['{"v":"1"}', '{"v":1}', { anyOf: [{ type: 'string' }, { type: 'integer' }] }],
  ['{"v":"1"}', '{"v":{}}', { anyOf: [{ type: 'string' }, { type: 'object', properties: {} }] }],
  ['{"v":true}', '{"v":null}', { type: ['boolean', 'null'] }],
  ['{"v":[]}', '{"v":[null]}', { type: 'array', items: {} }],
  ['{"v":[]}', '{"v":null}', { anyOf: [{ type: 'array', items: {} }, { type: 'null' }] }],
  ['{"v":null}', '{"v":null}', {}],
])('%s and %s have the schema %j, which both fit', async (one, other, v) => {
  const { schema } = inferred(one, other);
  expect(schema).toEqual({ type: 'object', properties: { v }, required: ['v'] });
  for (const record of [one, other]) expect(await flawOf(schema, record)).toBe(undefined);
});

it('guesses name members and no values', () => {
  const secret = 'secret-9';
  const { guesses } = inferred(
    `{"a b":null,"n":12345678901234567890,"m":123456789012345678901,"x":[],"y":["${secret}",{"z":1},{}],"at":"2024-01-01"}`,
  );
  expect(guesses).toEqual([
    'always null or never there, so any value fits: $["a b"], $.x[*]',
    "uint64: integers that a JavaScript number can't hold: $.n",
    "more than 64 bits: integers that a JavaScript number can't hold: $.m",
    'values of several kinds: $.y[*] (string, object)',
    'optional, as some lack it: $.y[*].z (1 of 2)',
    'format date, as all of these texts have it: $.at',
  ]);
  expect(guesses.join()).not.toContain(secret);
});

it('a record beyond those that were seen may have more members, and lacks none that all had', async () => {
  const { schema } = inferred('{"id":1,"user":{"id":"a"}}', '{"id":12345678901234567890,"user":{"id":"b"}}');
  expect(await flawOf(schema, '{"id":18446744073709551615,"user":{"id":"c","name":"d"},"more":[1]}')).toBe(undefined);
  expect(await flawOf(schema, '{"id":1.5,"user":{"id":"c"}}')).toBe('$.id: expected an int, got a number');
  expect(await flawOf(schema, '{"id":1,"user":{}}')).toBe('$.user.id: expected a string, got nothing');
});

/** Any JSON value, from a small generator of numbers. */
function anyJson(next: (below: number) => number, depth: number): unknown {
  const kinds = [
    () => null,
    () => next(2) === 0,
    () => next(1_000) - 500,
    () => next(1_000) / 8,
    () => ['a', '2024-01-01', '2024-01-01T00:00:00Z', 'https://a.b', 'a@b.co', ''][next(6)],
    () => Array.from({ length: next(4) }, () => anyJson(next, depth - 1)),
    () =>
      Object.fromEntries(
        Array.from({ length: next(4) }, () => ['a', 'b', 'c', '__proto__', 'type', 'x y'][next(6)] ?? '').map((name) => [
          name,
          anyJson(next, depth - 1),
        ]),
      ),
  ];
  return kinds[next(depth > 0 ? kinds.length : 5)]?.();
}

it('all records fit the schema that is inferred from them, whatever they are', async () => {
  let seed = 7;
  const next = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let round = 0; round < 200; round += 1) {
    const records = Array.from({ length: 1 + next(5) }, () => JSON.stringify(anyJson(next, 3)));
    const { schema } = inferred(...records);
    for (const record of records) expect(await flawOf(schema, record), JSON.stringify([round, records, schema])).toBe(undefined);
  }
});

it('the schema of a stream has no limits of integers but its own', async () => {
  const schema = {
    type: 'object',
    properties: { id: { type: 'integer' }, age: { type: 'integer', minimum: 0, maximum: 150 } },
    required: ['id'],
  };
  expect(await published(schema)).toMatchObject(schema);
  expect(JSON.stringify(await published(schema))).not.toContain('9007199254740991');
  expect(await flawOf(schema, '{"id":-12345678901234567890,"age":150}')).toBe(undefined);
  expect(await flawOf(schema, '{"id":1,"age":12345678901234567890}')).toMatch(/^\$\.age: /);
});
