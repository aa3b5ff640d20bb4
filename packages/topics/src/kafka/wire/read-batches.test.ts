import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { zstdDecompressSync } from 'node:zlib';
import { Reader, readRecordsBatches } from '@platformatic/kafka';
import * as fc from 'fast-check';
import lz4 from 'lz4js';
import snappy from 'snappyjs';
import { describe, expect, it } from 'vitest';
import { passes } from '../client/driver-errors.ts';
import { type StoredBatch, anyBatches, stored, withChecksum } from './any-batch.fixture.ts';
import { type FetchedBatch, isCommit, readBatches } from './read-batches.ts';

/**
 * Batches that a broker of Kafka 4.3.1 has stored, by client and compression, each with the records k0 to k11: Java's console producer, librdkafka
 * 2.16, @platformatic/kafka 2.12, kafka-python 2.2, kafkajs 2.2, and Headgate itself.
 */
const RECORDED = JSON.parse(readFileSync(new URL('./recorded-batches.fixture.json', import.meta.url), 'utf8')) as Record<string, string>;

const PLACE = { topic: 'pages', partition: 3 };
const require = createRequire(import.meta.url);

/** A batch in the form in which the decoders are compared. kafkajs doesn't say where a batch without records ends. */
interface Seen {
  readonly batch: readonly unknown[];
  readonly records: readonly (readonly unknown[])[];
}

const hex = (bytes: Uint8Array | null | undefined): string =>
  bytes === null || bytes === undefined ? 'null' : Buffer.from(bytes).toString('hex');
const headersOf = (headers: Iterable<readonly [string, Uint8Array | null | undefined]>): unknown =>
  // Of headers with the same name, the last one counts. One without a value is empty.
  [...new Map([...headers].map(([name, value]) => [name, hex(value ?? Buffer.alloc(0))]))].toSorted(([a], [b]) => (a < b ? -1 : 1));

async function byHeadgate(bytes: Buffer): Promise<readonly Seen[]> {
  return (await readBatches(bytes, PLACE)).map((batch) => ({
    batch: [
      batch.firstOffset,
      batch.lastOffset,
      batch.producerId,
      batch.producerEpoch,
      batch.firstSequence,
      batch.isTransactional,
      batch.isControl,
    ],
    records: batch.records.map(({ offset, timestampMs, key, value, headers }) => [
      offset,
      timestampMs,
      hex(key),
      hex(value),
      headersOf(Object.entries(headers)),
    ]),
  }));
}

function byPlatformatic(bytes: Buffer): readonly Seen[] {
  return readRecordsBatches(Reader.from(bytes)).map((batch) => ({
    batch: [
      Number(batch.firstOffset),
      Number(batch.firstOffset) + batch.lastOffsetDelta,
      String(batch.producerId),
      batch.producerEpoch,
      batch.firstSequence,
      (batch.attributes & 16) !== 0,
      (batch.attributes & 32) !== 0,
    ],
    records: batch.records.map(({ offsetDelta, timestampDelta, key, value, headers }) => [
      Number(batch.firstOffset) + offsetDelta,
      // This decoder doesn't know that brokers can stamp the records.
      Number((batch.attributes & 8) === 0 ? batch.firstTimestamp + timestampDelta : batch.maxTimestamp),
      hex(key),
      hex(value),
      headersOf([...headers].map(([name, header]) => [String(name), header])),
    ]),
  }));
}

interface KafkajsMessage {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, Buffer | readonly Buffer[] | null>>;
  readonly isControlRecord: boolean;
  readonly batchContext: { readonly [field in 'firstOffset' | 'producerId']: string } & {
    readonly [field in 'lastOffsetDelta' | 'producerEpoch' | 'firstSequence']: number;
  } & { readonly inTransaction: boolean };
}

async function byKafkajs(bytes: Buffer): Promise<readonly Seen[]> {
  const Decoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => object;
  const decode = require('kafkajs/src/protocol/requests/fetch/v4/decodeMessages') as (
    decoder: object,
  ) => Promise<readonly KafkajsMessage[]>;
  const size = Buffer.alloc(4);
  size.writeInt32BE(bytes.length);
  const messages = await decode(new Decoder(Buffer.concat([size, bytes])));
  return [...Map.groupBy(messages, ({ batchContext }) => batchContext.firstOffset).values()].map((ofBatch) => {
    const [{ batchContext: batch, isControlRecord }] = ofBatch as [KafkajsMessage];
    const firstOffset = Number(batch.firstOffset);
    return {
      batch: [
        firstOffset,
        firstOffset + batch.lastOffsetDelta,
        batch.producerId,
        batch.producerEpoch,
        batch.firstSequence,
        batch.inTransaction,
        isControlRecord,
      ],
      records: ofBatch.map(({ offset, timestamp, key, value, headers }) => [
        Number(offset),
        Number(timestamp),
        hex(key),
        hex(value),
        headersOf(
          Object.entries(headers).map(([name, header]) => [name, Array.isArray(header) ? header.at(-1) : (header as Buffer | null)]),
        ),
      ]),
    };
  });
}

/** Lets kafkajs read the compressions that it has no codec for. */
async function withCodecs<T>(work: () => Promise<T>): Promise<T> {
  const { Codecs } = require('kafkajs/src/protocol/message/compression') as { readonly Codecs: Record<number, unknown> };
  const before = { ...Codecs };
  const codec = (decompress: (bytes: Buffer) => Uint8Array) => () => ({
    decompress: async (bytes: Buffer) => await Promise.resolve(Buffer.from(decompress(bytes))),
  });
  Object.assign(Codecs, {
    2: codec((bytes) => (bytes.toString('latin1', 0, 8) === '\x82SNAPPY\0' ? unframed(bytes) : snappy.uncompress(bytes))),
    3: codec((bytes) => lz4.decompress(bytes)),
    4: codec((bytes) => zstdDecompressSync(bytes)),
  });
  try {
    return await work();
  } finally {
    Object.assign(Codecs, before);
  }
}

function unframed(bytes: Buffer): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 16; at < bytes.length; at += 4 + bytes.readUInt32BE(at))
    blocks.push(snappy.uncompress(bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at))));
  return Buffer.concat(blocks);
}

const RECORD = { offsetDelta: 0, msDelta: 0n, key: Buffer.from('key'), value: Buffer.from('value'), headers: [] };
const BATCH: StoredBatch = {
  firstOffset: 7,
  lastOffsetDelta: 0,
  firstMs: 0n,
  maxMs: 0n,
  producerId: 5n,
  producerEpoch: 1,
  firstSequence: 0,
  isStamped: false,
  isTransactional: true,
  isControl: false,
  compression: 'none',
  records: [RECORD],
};

describe('batches of a partition', () => {
  it('are read as kafkajs and @platformatic/kafka read them, except what these two leave out', async () => {
    await withCodecs(async () => {
      await fc.assert(
        fc.asyncProperty(anyBatches, async (batches) => {
          const bytes = Buffer.concat(batches.map(stored));
          const own = await byHeadgate(bytes);
          // @platformatic/kafka 2.12.1 reads only the raw frame of Snappy, and decompresses records where there are none.
          const isForPlatformatic = batches.every(({ compression, records }) => compression !== 'framedSnappy' && records.length > 0);
          expect(isForPlatformatic ? byPlatformatic(bytes) : own).toEqual(own);
          // kafkajs shows nothing of a batch without records.
          expect(own.filter(({ records }) => records.length > 0)).toEqual(await byKafkajs(bytes));
          // None of what was stored is missing.
          expect(own.map(({ batch, records }) => [batch[0], batch[1], records.length])).toEqual(
            batches.map(({ firstOffset, lastOffsetDelta, records }) => [firstOffset, firstOffset + lastOffsetDelta, records.length]),
          );
        }),
        { numRuns: 200 },
      );
    });
  });

  it.each(Object.entries(RECORDED))('of other clients are read in full: %s', async (client, base64) => {
    const bytes = Buffer.from(base64, 'base64');
    const own = await byHeadgate(bytes);
    expect(await withCodecs(() => byKafkajs(bytes))).toEqual(own);
    // @platformatic/kafka 2.12.1 doesn't read Snappy in the frame of the Java library.
    expect(bytes.includes('SNAPPY') ? own : byPlatformatic(bytes)).toEqual(own);
    const [{ records }] = own as [Seen];
    const values = Array.from({ length: 12 }, (_, index) =>
      `value ${index} `.repeat((1 + (index % 7)) * (client.startsWith('headgate') ? 20 : 1)),
    );
    expect(records.slice(0, 12).map(([, , key, value]) => [key, value])).toEqual(
      values.map((value, index) => [hex(Buffer.from(`k${index}`)), hex(Buffer.from(value))]),
    );
  });

  it('are read as far as they are whole: the response can end within the last one', async () => {
    const [first, second] = [stored(BATCH), stored({ ...BATCH, firstOffset: 8 })];
    const both = Buffer.concat([first, second]);
    for (let cut = 1; cut <= second.length; cut += 1) expect(await readBatches(both.subarray(0, both.length - cut), PLACE)).toHaveLength(1);
    expect(await readBatches(both, PLACE)).toHaveLength(2);
  });

  it.each([
    { what: 'committed', key: [0, 0, 0, 1], is: true },
    { what: 'aborted', key: [0, 0, 0, 0], is: false },
  ])('show whether a transaction was $what', async ({ key, is }) => {
    const marker = stored({ ...BATCH, isControl: true, records: [{ ...RECORD, key: Buffer.from(key) }] });
    const emptied = stored({ ...BATCH, isControl: true, records: [] });
    const [found, without] = (await readBatches(Buffer.concat([marker, emptied]), PLACE)) as [FetchedBatch, FetchedBatch];
    expect([isCommit(found), isCommit(without)]).toEqual([is, undefined]);
  });

  it.each([
    {
      what: 'an old format',
      change: (bytes: Buffer) => bytes.writeInt8(1, 16),
      says: /record format 1, which clients before Kafka 0\.11 wrote/u,
    },
    { what: 'a newer format', change: (bytes: Buffer) => bytes.writeInt8(3, 16), says: /record format 3, which this release lacks/u },
    { what: 'a changed byte', change: (bytes: Buffer) => bytes.writeInt8(1, 65), says: /checksum doesn't match/u },
    { what: 'an impossible size', change: (bytes: Buffer) => bytes.writeInt32BE(-9, 8), says: /its size is -9/u },
    {
      what: 'an unknown compression',
      change: (bytes: Buffer) => withChecksum(bytes).writeInt8(5, 22),
      says: /compression has the unknown number 5/u,
    },
    { what: 'more records than bytes', change: (bytes: Buffer) => bytes.writeInt32BE(99, 57), says: /can't hold 99 records in \d+ bytes/u },
    { what: 'a field beyond the end', change: (bytes: Buffer) => bytes.writeInt8(126, 65), says: /ends within a record/u },
    {
      what: 'a record with more bytes than fields',
      change: (bytes: Buffer) => bytes.writeInt8(126, 61),
      says: /has 63 bytes, but its fields don't/u,
    },
  ])('with $what are refused with words, for good', async ({ what, change, says }) => {
    const bytes = stored(BATCH);
    change(bytes);
    if (what !== 'a changed byte') withChecksum(bytes);
    const error: unknown = await readBatches(bytes, PLACE).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'HEADGATE_UNREADABLE_BATCH', message: expect.stringMatching(says) });
    expect((error as Error).message).toMatch(/^The record batch at offset 7 of pages-3 can't be read: /u);
    expect(passes(error)).toBe(false);
  });

  it.each([1, 2, 3, 4])('whose compressed bytes are damaged are refused, too: compression %i', async (codec) => {
    const bytes = Buffer.concat([stored(BATCH).subarray(0, 61), Buffer.alloc(50, 0xff)]);
    bytes.writeInt32BE(bytes.length - 12, 8);
    bytes.writeInt16BE(codec, 21);
    await expect(readBatches(withChecksum(bytes), PLACE)).rejects.toMatchObject({ code: 'HEADGATE_UNREADABLE_BATCH' });
  });
});
