import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BatchRecord } from './batch-record.ts';
import { anyRecord, pageOfRecords } from './batch-records.fixture.ts';
import { RecordBatches, type RecordBatch } from './message-batches.ts';
import { plainMessages } from './record-batch.ts';
import { batchBytes, wireBytes } from './wire-bytes.fixture.ts';

const at = { partition: 0, timestampMs: 1_795_000_000_000 };
const batches = new RecordBatches({
  onFallback: (reason) => {
    throw new Error(reason);
  },
});

function split(records: readonly BatchRecord[], maxBytes: number): RecordBatch[] {
  return Array.from(batches.split(records, { ...at, maxBytes }));
}

/** The size of the batch kafkajs makes of these records. */
async function plainBytes(records: readonly BatchRecord[]): Promise<number> {
  return batchBytes(await wireBytes(plainMessages(records, at)));
}

describe('splitting', () => {
  it('keeps every record in its order, in batches that are as full as can be', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyRecord, { minLength: 1, maxLength: 60 }), fc.nat(20_000), async (records, spare) => {
        const alone = await Promise.all(records.map((record) => plainBytes([record])));
        const maxBytes = Math.max(...alone) + spare;
        let next = 0;
        // One at a time: the next batch is written over the one before.
        for (const { messages, first, count, bytes } of batches.split(records, { ...at, maxBytes })) {
          expect(first).toBe(next);
          next += count;
          const plain = await wireBytes(plainMessages(records.slice(first, first + count), at));
          expect((await wireBytes(messages)).equals(plain)).toBe(true);
          expect(bytes).toBe(batchBytes(plain));
          expect(bytes).toBeLessThanOrEqual(maxBytes);
          const oneMore = first + count < records.length ? await plainBytes(records.slice(first, first + count + 1)) : Infinity;
          expect(oneMore).toBeGreaterThan(maxBytes);
        }
        expect(next).toBe(records.length);
      }),
      { numRuns: 50 },
    );
  });

  it('fills a batch to the last byte', async () => {
    const records = pageOfRecords(300);
    const bytes = await plainBytes(records);
    expect(split(records, bytes).map(({ count }) => count)).toEqual([300]);
    expect(split(records, bytes - 1).map(({ count }) => count)).toEqual([299, 1]);
  });

  it('tells which record is too large for any batch, and how large it is', async () => {
    const large = { key: null, value: 'x'.repeat(5000) };
    const records = [...pageOfRecords(20), large, ...pageOfRecords(20)];
    const bytes = await plainBytes([large]);
    const tooLarge = { code: 'HEADGATE_RECORD_TOO_LARGE', index: 20, bytes };
    expect(() => split(records, bytes - 1)).toThrow(expect.objectContaining(tooLarge));
    expect(split(records, bytes).reduce((sum, { count }) => sum + count, 0)).toBe(41);
  });

  it('makes no batch of no records', () => {
    expect(split([], 1000)).toEqual([]);
  });
});
