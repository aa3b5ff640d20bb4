import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { avroCodec } from './avro.ts';
import { protobufCodec } from './protobuf.ts';
import { type RegistryEmulator, startRegistryEmulator } from './registry-emulator.fixture.ts';
import { type SchemaRegistryOptions, jsonCodec, schemaRegistry } from './registry.ts';

let emulator: RegistryEmulator;
beforeEach(async () => {
  emulator = await startRegistryEmulator();
});
afterEach(async () => await emulator[Symbol.asyncDispose]());

const codec = avroCodec('"string"');
const never = new AbortController().signal;
const opened = (options: Partial<SchemaRegistryOptions> = {}) =>
  schemaRegistry({ url: emulator.url, ...options })
    .serializer(codec)
    .open({ topic: 'a.b', signal: never });
const linesOf = () => emulator.requests.map(({ line }) => line);

describe('the wire format', () => {
  it.each([
    ['Avro', codec, [0, 0, 0, 0, 1, 6, 111, 110, 101], '"one"', 'one'],
    ['JSON', jsonCodec('{}'), [0, 0, 0, 0, 1, 34, 111, 110, 101, 34], '"one"', 'one'],
    [
      'Protobuf',
      protobufCodec('syntax = "proto3"; message A { string a = 1; }'),
      [0, 0, 0, 0, 1, 0, 10, 3, 111, 110, 101],
      '{"a":"one"}',
      { a: 'one' },
    ],
  ])('of %s is a byte of 0, the ID, and the value', async (_, given, bytes, json, value) => {
    const serialize = await schemaRegistry({ url: emulator.url }).serializer(given).open({ topic: 'a.b', signal: never });
    expect([...Buffer.from(serialize(value))]).toEqual(bytes);
    // Another client reads it by the schema that the registry has.
    const decoded = await schemaRegistry({ url: emulator.url }).decoded(Uint8Array.from(bytes));
    expect(Buffer.from(decoded).toString()).toBe(json);
    expect(linesOf()).toEqual(['POST /subjects/a.b-value/versions', 'GET /schemas/ids/1']);
    expect(emulator.schemas).toMatchObject([{ schema: given.schema }]);
  });

  it('is decoded by one request per schema, also after the registry is gone', async () => {
    const registry = schemaRegistry({ url: emulator.url });
    const serialize = await registry.serializer(codec).open({ topic: 'a.b', signal: never });
    await emulator[Symbol.asyncDispose]();
    const bytes = serialize('one') as Uint8Array;
    expect(Buffer.from(await registry.decoded(bytes)).toString()).toBe('"one"');
    expect(linesOf()).toEqual(['POST /subjects/a.b-value/versions']);
    await expect(schemaRegistry({ url: emulator.url }).decoded(bytes)).rejects.toThrow(/can't be reached \(ECONNREFUSED\)/);
  });

  it.each(['{"a":1}', '', '\0\0\0', '\0\0\0\x09x'])('is nothing else: %j stays as it is', async (text) => {
    const bytes = Buffer.from(text);
    expect(await schemaRegistry({ url: emulator.url }).decoded(bytes)).toBe(bytes);
    expect(linesOf()).toEqual(text.startsWith('\0\0\0\x09') ? ['GET /schemas/ids/2424'] : []);
  });

  it('is read again after the registry was away', async () => {
    await opened();
    const registry = schemaRegistry({ url: emulator.url });
    const bytes = Buffer.from([0, 0, 0, 0, 1, 6, 111, 110, 101]);
    emulator.failing = { status: 500, body: '' };
    await expect(registry.decoded(bytes)).rejects.toThrow('status 500');
    emulator.failing = undefined;
    expect(Buffer.from(await registry.decoded(bytes)).toString()).toBe('"one"');
  });
});

describe('a run that starts', () => {
  it('only looks schemas up with register: false', async () => {
    await expect(opened({ register: false })).rejects.toThrow(
      /it has no such schema under a\.b-value\. Register it, or let a run do so\. It says: Schema not found$/,
    );
    await opened();
    expect(typeof (await opened({ register: false }))).toBe('function');
    expect(linesOf()).toEqual(['POST /subjects/a.b-value', 'POST /subjects/a.b-value/versions', 'POST /subjects/a.b-value']);
  });

  it('sends the user or the token, read for each request', async () => {
    await opened({ user: 'me', password: () => 'päss' });
    await opened({ bearer: () => 'tok-1' });
    await opened();
    expect(emulator.requests.map(({ authorization }) => authorization)).toEqual(['Basic bWU6cMOkc3M=', 'Bearer tok-1', undefined]);
  });

  it.each([
    [401, '{"message":"who is hush-hush?"}', /it refuses these credentials \(401\)\. Correct user and password/],
    [403, '<html>hush-hush</html>', /it refuses these credentials \(403\)/],
    [
      409,
      '{"message":"hush-hush: field id was removed"}',
      /isn't compatible with the earlier ones of a\.b-value\. .* It says: \*\*\* field id/,
    ],
    [422, '{"message":"no schema"}', /it refuses the schema of a\.b-value\. Correct the schema\. It says: no schema$/],
    [500, 'hush-hush', /it responded with status 500\. Try again later\.$/],
    [200, 'hush-hush', /isn't JSON\. Is this the address of its Confluent API\?$/],
    [200, '[]', /responded without an ID/],
    [404, '<html>', /no such schema under a\.b-value/],
    [301, '', /status 301\. Is this the address/],
  ])('ends at %i with the cure, and shows no secret', async (status, body, words) => {
    emulator.failing = { status, body };
    const error = await opened({ bearer: () => 'hush-hush' }).catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ code: 'HEADGATE_REGISTRY', message: expect.stringMatching(words) });
    expect(inspect(error, { depth: 9 })).not.toContain('hush-hush');
    expect((error as Error).message).toContain(`schema registry at ${emulator.url}`);
  });

  it('shows no secret that a gateway repeats in another spelling', async () => {
    const authorization = `Basic ${Buffer.from('me:hush-hush').toString('base64')}`;
    emulator.failing = { status: 401, body: JSON.stringify({ message: `${authorization} is hush%2Dhush` }) };
    await expect(opened({ user: 'me', password: () => 'hush-hush' })).rejects.toThrow(/bearer token\. It says: Basic \*\*\* is \*\*\*$/);
  });

  it('quotes no registry if a secret is so short that it could be a word', async () => {
    emulator.failing = { status: 401, body: '{"message":"me:pass1 is wrong"}' };
    const error = await opened({ user: 'me', password: () => 'pass1' }).catch((thrown: unknown) => thrown as Error);
    expect((error as Error).message).toMatch(/or the bearer token\.$/);
  });

  it('takes no address with a password, which errors would show', () => {
    expect(() => schemaRegistry({ url: 'http://me:hush-hush@127.0.0.1:1' })).toThrow(
      /^url: contains a password\. Pass user and password\.$/,
    );
  });

  it('ends when the registry is away', async () => {
    await emulator[Symbol.asyncDispose]();
    await expect(opened()).rejects.toThrow(/can't be reached \(ECONNREFUSED\)\. Start it, or correct its address\.$/);
  });

  it('ends when the registry sends nothing, or the run is stopped', async () => {
    emulator.failing = null;
    const stop = new AbortController();
    const limit = vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(AbortSignal.abort());
    await expect(opened()).rejects.toThrow(/sent no response within 10 s\. Start it/);
    expect(limit).toHaveBeenCalledWith(10_000);
    limit.mockRestore();
    const stopped = schemaRegistry({ url: emulator.url }).serializer(codec).open({ topic: 'a.b', signal: stop.signal });
    stop.abort(new Error('stopped'));
    await expect(stopped).rejects.toThrow('stopped');
  });
});

describe('check', () => {
  it('asks whether the schema fits, and registers nothing', async () => {
    await schemaRegistry({ url: emulator.url }).check('a.b', codec);
    await expect(schemaRegistry({ url: emulator.url, register: false }).check('a.b', codec)).rejects.toThrow('no such schema');
    emulator.failing = { status: 200, body: '{"is_compatible":false,"messages":["id was removed"]}' };
    await expect(schemaRegistry({ url: emulator.url }).check('a.b', codec)).rejects.toThrow(/isn't compatible .* It says: id was removed$/);
    expect(linesOf()).toEqual([
      'POST /compatibility/subjects/a.b-value/versions/latest?verbose=true',
      'POST /subjects/a.b-value',
      'POST /compatibility/subjects/a.b-value/versions/latest?verbose=true',
    ]);
    expect(emulator.schemas).toEqual([]);
  });
});
