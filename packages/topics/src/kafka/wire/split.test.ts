import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BatchRecord } from './batch-record.ts';
import { anyRecord, pageOfRecords } from './batch-records.fixture.ts';
import { COMPRESSIONS } from './codecs.ts';
import { BatchSplitter, type SplitBatch } from './split-batches.ts';
import { batchBytes, kafkajsBytes, ownBytes } from './wire-bytes.fixture.ts';

const at = { partition: 0, timestampMs: 1_795_000_000_000 };
const splitter = new BatchSplitter();

function splitting(records: readonly BatchRecord[], maxBytes: number): Iterable<SplitBatch> {
  return splitter.split(records, { timestampMs: at.timestampMs, maxBytes, compression: COMPRESSIONS.none });
}

const split = (records: readonly BatchRecord[], maxBytes: number): SplitBatch[] => Array.from(splitting(records, maxBytes));

/** The size of the batch in which kafkajs would send these records. */
async function plainBytes(records: readonly BatchRecord[]): Promise<number> {
  return batchBytes(await kafkajsBytes(records, at));
}

describe('splitting', () => {
  it('keeps all records in order, in batches as full as possible', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyRecord, { minLength: 1, maxLength: 60 }), fc.nat(20_000), async (records, spare) => {
        const alone = await Promise.all(records.map((record) => plainBytes([record])));
        const maxBytes = Math.max(...alone) + spare;
        let next = 0;
        // Each batch is checked before the next one is taken, because the next one overwrites its buffer.
        for (const batch of splitting(records, maxBytes)) {
          const first = next;
          const { count, bytes } = batch;
          next += count;
          const plain = await kafkajsBytes(records.slice(first, next), at);
          expect((await ownBytes(await batch.packed(), at.partition)).equals(plain)).toBe(true);
          expect(bytes).toBe(batchBytes(plain));
          expect(bytes).toBeLessThanOrEqual(maxBytes);
          const oneMore = next < records.length ? await plainBytes(records.slice(first, next + 1)) : Infinity;
          expect(oneMore).toBeGreaterThan(maxBytes);
        }
        expect(next).toBe(records.length);
      }),
      { numRuns: 50 },
    );
  });

  it('puts at most 50,000 records into a batch, the maximum that kafkajs can read', () => {
    const record = { key: null, value: '1' };
    const records = { length: 120_001, at: () => record };
    const counts = Array.from(
      splitter.split(records, { timestampMs: 0, maxBytes: Infinity, compression: COMPRESSIONS.none }),
      ({ count }) => count,
    );
    expect(counts).toEqual([50_000, 50_000, 20_001]);
  });

  it('fills a batch to the last byte', async () => {
    const records = pageOfRecords(300);
    const bytes = await plainBytes(records);
    expect(split(records, bytes).map(({ count }) => count)).toEqual([300]);
    expect(split(records, bytes - 1).map(({ count }) => count)).toEqual([299, 1]);
  });

  it('reports which record is too large for any batch, and its size', async () => {
    const large = { key: null, value: 'x'.repeat(5000) };
    const records = [...pageOfRecords(20), large, ...pageOfRecords(20)];
    const bytes = await plainBytes([large]);
    const tooLarge = { name: 'RecordTooLargeError', message: expect.stringMatching(/^Record 20 /u) as string, bytes };
    expect(() => split(records, bytes - 1)).toThrow(expect.objectContaining(tooLarge));
    expect(split(records, bytes).reduce((sum, { count }) => sum + count, 0)).toBe(41);
  });

  it('reuses the memory of the last page for the next one, even after a small batch', async () => {
    const memory: unknown[] = [];
    for (let page = 0; page < 2; page += 1) {
      const both = [pageOfRecords(300), pageOfRecords(1)].map((records) => splitting(records, 1_000_000)[Symbol.iterator]());
      const [first] = both.map((batches): unknown => batches.next().value);
      memory.push((await (first as SplitBatch).packed()).records.buffer);
      // Taking the next batch returns the buffer of the previous one.
      for (const batches of both) expect(batches.next().done).toBe(true);
    }
    expect(memory[1]).toBe(memory[0]);
  });

  it('returns no batch for no records', () => {
    expect(split([], 1000)).toEqual([]);
  });
});
