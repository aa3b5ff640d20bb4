import * as fc from 'fast-check';
import { CompressionTypes, type Message } from 'kafkajs';
import { describe, expect, it, vi } from 'vitest';
import { anyRecord, pageOfRecords } from './batch-records.fixture.ts';
import { RecordBatches } from './message-batches.ts';
import { plainMessages } from './record-batch.ts';
import { wireBytes } from './wire-bytes.fixture.ts';

const at = { partition: 3, timestampMs: 1_795_000_000_000 };
const neverFallBack = (reason: string): never => {
  throw new Error(reason);
};
const batches = new RecordBatches({ onFallback: neverFallBack });

describe('a batch of records', () => {
  it('is on the wire what kafkajs makes of the same records', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyRecord, { minLength: 1, maxLength: 200 }), fc.nat(2 ** 41), async (records, timestampMs) => {
        const options = { partition: 3, timestampMs };
        const batch = await wireBytes(batches.messages(records, options));
        expect(batch.equals(await wireBytes(plainMessages(records, options)))).toBe(true);
      }),
    );
  });

  it('is the same for a page of 5,000, compressed too', async () => {
    const records = pageOfRecords();
    for (const compression of [CompressionTypes.None, CompressionTypes.GZIP]) {
      const batch = await wireBytes(batches.messages(records, at), compression);
      expect(batch.equals(await wireBytes(plainMessages(records, at), compression))).toBe(true);
    }
  });

  it('is the same when it is sent again', async () => {
    const messages = batches.messages(pageOfRecords(20), at);
    const once = await wireBytes(messages);
    expect((await wireBytes(messages)).equals(once)).toBe(true);
  });

  it('counts as many messages as it has records', () => {
    expect(batches.messages(pageOfRecords(300), at)).toHaveProperty('length', 300);
  });

  it('is handed over without kafkajs encoding more than the first record', async () => {
    const read = vi.fn<() => void>();
    const records = pageOfRecords(50);
    const messages = batches.messages(records, at);
    for (const record of records) Object.defineProperty(record, 'value', { get: read });
    await wireBytes(messages);
    expect(read).not.toHaveBeenCalled();
  });

  it('holds nothing for no records', () => {
    expect(batches.messages([], at)).toEqual([]);
  });

  it('comes out of an async function whole', async () => {
    const messages = batches.messages(pageOfRecords(2), at);
    expect((await Promise.resolve(messages)) === messages).toBe(true);
  });

  it.each([
    ['index', (messages: Message[]) => messages[0]],
    ['iterator', (messages: Message[]) => [...messages]],
    ['filter', (messages: Message[]) => messages.filter(Boolean)],
    ['concat', (messages: Message[]) => messages.concat([])],
    ['at', (messages: Message[]) => messages.at(-1)],
    ['keys', (messages: Message[]) => Object.keys(messages)],
    ['push', (messages: Message[]) => messages.push({ value: 'x' })],
    ['assignment', (messages: Message[]) => Object.assign(messages, { 0: { value: 'x' } })],
    ['slice', (messages: Message[]) => messages.slice(0, 1)],
    ['as an argument', (messages: Message[]) => Array.prototype.concat([], messages)],
  ])('throws when it is used by %s', (_, use) => {
    const messages = batches.messages(pageOfRecords(2), at);
    expect(() => use(messages)).toThrow(expect.objectContaining({ code: 'HEADGATE_STRICT_ARRAY' }));
  });
});

describe('a batch in another kafkajs', () => {
  it('is plain messages with a version it does not know, and says so once', async () => {
    const onFallback = vi.fn<(reason: string) => void>();
    const other = new RecordBatches({ onFallback, version: '2.3.0' });
    const records = pageOfRecords(10);
    expect(other.messages(records, at)).toEqual(plainMessages(records, at));
    expect(Array.from(other.split(records, { ...at, maxBytes: 500 })).flatMap(({ messages }) => messages)).toEqual(
      plainMessages(records, at),
    );
    expect(onFallback.mock.calls).toEqual([['kafkajs is 2.3.0; batches are made for 2.2.4']]);
  });

  it('is plain messages from the first one on that kafkajs encodes otherwise, and says so once', () => {
    const onFallback = vi.fn<(reason: string) => void>();
    const other = new RecordBatches({ onFallback });
    const records = pageOfRecords(3);
    const early = [other.messages(records, at), other.messages(records, at)];
    for (const messages of early) expect(messages.map(({ value }) => value)).toEqual(records.map(({ value }) => value));
    expect(other.messages(records, at)).toEqual(plainMessages(records, at));
    expect(onFallback).toHaveBeenCalledOnce();
  });

  it('refuses a partitioner that chooses another partition', () => {
    const messages = batches.messages(pageOfRecords(2), at);
    const group = (): unknown => messages.reduce((groups, message) => Object.assign(groups, { 0: [message] }), {});
    expect(group).toThrow(expect.objectContaining({ code: 'HEADGATE_PARTITIONER' }));
  });
});

describe('plain messages', () => {
  it('carry partition and time, the latter as text, and headers where there are some', () => {
    const records = [
      { key: 'a', value: null },
      { key: null, value: 'b', headers: { name: 'c' } },
    ];
    const common = { partition: 3, timestamp: '0' };
    expect(plainMessages(records, { partition: 3, timestampMs: 0 })).toStrictEqual(records.map((record) => ({ ...record, ...common })));
  });
});
