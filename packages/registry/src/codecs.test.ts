import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { avroCodec } from './avro.ts';
import type { Codec } from './codec.ts';
import { protobufCodec } from './protobuf.ts';

const AVSC = JSON.stringify({
  type: 'record',
  name: 'Issue',
  fields: [
    { name: 'id', type: 'long' },
    { name: 'title', type: 'string' },
    { name: 'open', type: 'boolean' },
    { name: 'state', type: { type: 'enum', name: 'State', symbols: ['open', 'closed'] } },
    { name: 'score', type: ['null', 'double'], default: null },
    { name: 'parent', type: ['null', 'long'], default: null },
    { name: 'labels', type: { type: 'array', items: 'string' } },
    { name: 'user', type: { type: 'record', name: 'User', fields: [{ name: 'id', type: 'string' }] } },
    { name: 'counts', type: { type: 'map', values: 'int' } },
  ],
});
const PROTO = `syntax = "proto3";
package tracker;
enum State { open = 0; closed = 1; }
message Issue {
  message User { string id = 1; }
  int64 id = 1;
  string title = 2;
  bool open = 3;
  State state = 4;
  optional double score = 5;
  optional int64 parent = 6;
  repeated string labels = 7;
  User user = 8;
  map<string, int32> counts = 9;
}`;
const CODECS: readonly (readonly [string, Codec])[] = [
  ['Avro', avroCodec(AVSC)],
  ['Protobuf', protobufCodec(PROTO)],
];
const ISSUE = { id: 1, title: 'one', open: true, state: 'open', labels: ['a'], user: { id: 'u' }, counts: { a: 1 } };

/** JSON as the engine parses it: a long number stays an object with its text. */
function parsed(text: string): unknown {
  const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
  const reviver = (_: string, value: unknown, { source }: { readonly source?: string }): unknown =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value;
  return JSON.parse(text, reviver as never);
}

describe.each(CODECS)('%s', (_, codec) => {
  it('keeps every value, and leaves out members that the schema lacks', () => {
    const value = { ...ISSUE, score: 0.5, labels: ['a', '', 'ß😀'], extra: { any: 1 } };
    const { extra: _, ...known } = value;
    expect(JSON.parse(codec.decode(codec.encode(value)))).toMatchObject(known);
    expect(codec.decode(codec.encode(value))).not.toContain('extra');
    expect(codec.flaw(value)).toBeUndefined();
  });

  it('takes any number for a double, unless its digits would be lost', () => {
    for (const score of [0, -0.1, 1e20, 1e300, 2 ** 53])
      expect(JSON.parse(codec.decode(codec.encode({ ...ISSUE, score })))).toMatchObject({ score });
    expect(codec.flaw(parsed(JSON.stringify(ISSUE).replace('{', '{"score":12345678901234567890,')))).toMatch(/^\$\.score: expected/);
    expect(codec.decode(codec.encode(parsed(JSON.stringify(ISSUE).replace('{', '{"score":1.50,'))))).toMatch(/"score":1\.5[,}]/);
  });

  it('keeps 64-bit integers to the digit', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (id) => {
        const value = parsed(JSON.stringify(ISSUE).replace('"id":1', `"id":${id},"parent":${id}`));
        const text = codec.decode(codec.encode(value));
        expect(text).toContain(`"id":${id}`);
        expect(text).toContain(`"parent":${id}`);
      }),
    );
  });

  it.each([
    ['an ID that is text', { id: 'x' }, /^\$\.id: expected an? (long|int64), got text$/],
    ['an ID with a fraction', { id: 1.5 }, /^\$\.id: expected an? (long|int64), got a number$/],
    ['an ID beyond 64 bits', { id: 2n ** 63n }, /^\$\.id: expected an? (long|int64), got a number$/],
    ['null for text', { title: null }, /^\$\.title: expected a string, got null$/],
    ['a missing member', { open: undefined }, /^\$\.open: expected a (boolean|bool), got nothing$/],
    ['an unknown symbol', { state: 'gone' }, /^\$\.state: expected one of open, closed, got text$/],
    ['text for an optional number', { score: '1' }, /^\$\.score: expected (null or )?a double, got text$/],
    ['a number among texts', { labels: ['a', 7] }, /^\$\.labels\[1\]: expected a string, got a number$/],
    ['an object for a list', { labels: {} }, /^\$\.labels: expected (an array|a list), got an object$/],
    ['null in an object', { user: { id: null } }, /^\$\.user\.id: expected a string, got null$/],
    ['a large number for 32 bits', { counts: { a: 2 ** 31 } }, /^\$\.counts\.a: expected an? (int|int32), got a number$/],
    ['a list for an object', { user: [] }, /^\$\.user: expected an? (record|object), got a list$/],
  ])('names the place of %s, and no value', (_, change, flaw) => {
    const value = { ...ISSUE, ...change };
    expect(codec.flaw(value)).toMatch(flaw);
    expect(() => codec.encode(value)).toThrow(flaw);
  });

  it.each([[7], ['text'], [null], [[ISSUE]]])('refuses %o as a record', (value) => {
    expect(codec.flaw(value)).toMatch(/^\$: expected an? (record|object), got /);
    expect(() => codec.encode(value)).toThrow(/^\$: expected/);
  });
});

describe('Avro', () => {
  it('refuses a union that JSON can mean in two ways', () => {
    expect(() => avroCodec('["null", "int", "long"]')).toThrow(/ambiguous/);
  });

  it('refuses a list for a record whose members are all optional', () => {
    const fields = [{ name: 'a', type: ['null', 'string'], default: null }];
    const codec = avroCodec(
      JSON.stringify({ type: 'record', name: 'A', fields: [{ name: 'b', type: ['null', { type: 'record', name: 'B', fields }] }] }),
    );
    expect(codec.decode(codec.encode({ b: {} }))).toBe('{"b":{"a":null}}');
    expect(codec.flaw({ b: ['x'] })).toBe('$.b: expected null or a record, got a list');
    expect(() => codec.encode({ b: ['x'] })).toThrow('$.b: expected');
  });

  it('reads any slice of a buffer', () => {
    const bytes = avroCodec('"string"').encode('one');
    expect(avroCodec('"string"').decode(Buffer.concat([Buffer.from('xyz'), bytes]).subarray(3))).toBe('"one"');
  });
});

describe('Protobuf', () => {
  it('takes unsigned integers to their end, digits as text, and bytes as base64', () => {
    const codec = protobufCodec('syntax = "proto3"; message A { uint64 a = 1; fixed64 b = 2; uint32 c = 3; sint32 d = 4; bytes e = 5; }');
    const value = { a: '18446744073709551615', b: 2n ** 64n - 1n, c: 2 ** 32 - 1, d: -(2 ** 31), e: 'AAH/' };
    const text = codec.decode(codec.encode(value));
    expect(text).toBe('{"a":18446744073709551615,"b":18446744073709551615,"c":4294967295,"d":-2147483648,"e":"AAH/"}');
    expect(codec.flaw({ ...value, a: '18446744073709551616' })).toBe('$.a: expected an uint64, got text');
    expect(codec.flaw({ ...value, c: -1 })).toBe('$.c: expected an uint32, got a number');
    expect(codec.flaw({ ...value, e: 'ä' })).toBe('$.e: expected a bytes, got text');
  });

  it('reads any message of a file by its indices', () => {
    const codec = protobufCodec(
      'syntax = "proto3"; message A { message B { message C { string x = 1; } } message D { string y = 1; } } message E { string z = 1; }',
    );
    const field = Buffer.from([0x0a, 1, 0x76]);
    expect(codec.decode(Buffer.concat([Buffer.from([0x02, 0x02]), field]))).toBe('{"z":"v"}');
    expect(codec.decode(Buffer.concat([Buffer.from([0x04, 0x00, 0x02]), field]))).toBe('{"y":"v"}');
    expect(codec.decode(Buffer.concat([Buffer.from([0x06, 0x00, 0x00, 0x00]), field]))).toBe('{"x":"v"}');
    expect(() => codec.decode(Buffer.from([0x02, 0x08]))).toThrow('no such message');
  });

  it('takes one member of a oneof, and keys of maps in the range of their type', () => {
    const codec = protobufCodec('syntax = "proto3"; message A { oneof which { string a = 1; int32 b = 2; } map<int32, string> m = 3; }');
    expect(codec.flaw({ b: 1, m: { '-1': 'x' } })).toBeUndefined();
    expect(codec.flaw({ a: 'x', b: 1 })).toBe('$: expected only one of a, b, got an object');
    expect(codec.flaw({ m: { x: 'y' } })).toBe('$.m.x: expected an int32, got text');
  });

  it('requires what proto2 requires', () => {
    const codec = protobufCodec('syntax = "proto2"; message A { required string a = 1; optional string b = 2; }');
    expect(codec.flaw({ a: 'x' })).toBeUndefined();
    expect(codec.flaw({ b: 'x' })).toBe('$.a: expected a string, got nothing');
  });

  it.each([
    ['syntax = "proto3"; import "other.proto"; message A {}', 'imports other.proto'],
    ['syntax = "proto3"; enum A { B = 0; }', 'has no message'],
    ['syntax = "proto3"; message A { Other b = 1; }', 'Other'],
    ['message', ''],
  ])('refuses %s', (schema, words) => {
    expect(() => protobufCodec(schema)).toThrow(words);
  });
});
