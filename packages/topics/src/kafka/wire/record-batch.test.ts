import * as fc from 'fast-check';
import kafkajs, { CompressionTypes } from 'kafkajs';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { BatchRecord } from './batch-record.ts';
import { anyRecord, pageOfRecords } from './batch-records.fixture.ts';
import { COMPRESSIONS } from './codecs.ts';
import { BatchSplitter } from './split-batches.ts';
import { kafkajsBytes, ownBytes } from './wire-bytes.fixture.ts';

const partition = 3;
const timestampMs = 1_795_000_000_000;

async function batchOf(records: readonly BatchRecord[], options: { name?: keyof typeof COMPRESSIONS; timestampMs?: number } = {}) {
  const { name = 'none' } = options;
  const [batch] = new BatchSplitter().split(records, { timestampMs, maxBytes: 1e9, ...options, compression: COMPRESSIONS[name] });
  if (batch === undefined) throw new Error('There is no batch.');
  return await batch.packed();
}

describe('a batch of records', () => {
  it('has the same bytes as kafkajs writes for these records', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyRecord, { minLength: 1, maxLength: 200 }), fc.nat(2 ** 41), async (records, timestampMs) => {
        const own = await ownBytes(await batchOf(records, { timestampMs }), partition);
        expect(own.equals(await kafkajsBytes(records, { partition, timestampMs }))).toBe(true);
      }),
    );
  });

  it.each([
    { name: 'none', compression: CompressionTypes.None },
    { name: 'gzip', compression: CompressionTypes.GZIP },
    { name: 'zstd', compression: CompressionTypes.ZSTD },
  ] as const)('is the same for a page of 5,000: $name', async ({ name, compression }) => {
    const found = { ...kafkajs.CompressionCodecs };
    onTestFinished(() => void Object.assign(kafkajs.CompressionCodecs, found));
    // kafkajs's gzip codec uses another level, so its bytes would differ, and it has no codec for zstd.
    const compress = ({ buffer }: { readonly buffer: Buffer }): Promise<Buffer> => COMPRESSIONS[name].compress(buffer);
    Object.assign(kafkajs.CompressionCodecs, { [compression]: () => ({ compress }) });
    const records = pageOfRecords();
    const own = await ownBytes(await batchOf(records, { name }), partition);
    expect(own.equals(await kafkajsBytes(records, { partition, timestampMs, compression }))).toBe(true);
  });

  it('has the same bytes when it is sent again', async () => {
    const batch = await batchOf(pageOfRecords(20));
    expect((await ownBytes(batch, partition)).equals(await ownBytes(batch, partition))).toBe(true);
  });
});
