import { describe, expect, it, vi } from 'vitest';
import { pageOfRecords } from './batch-records.fixture.ts';
import { encodeRecords } from './encode-records.ts';
import { plainMessages, recordBatch } from './record-batch.ts';
import { wireBytes } from './wire-bytes.fixture.ts';

const at = { partition: 1, timestampMs: 0 };
const records = pageOfRecords(100);

describe('a record batch whose bytes are wrong', () => {
  it.each([0, 1, 3, 10, 60, -1])('is sent the plain way, and right, when byte %i of the first record is', async (position) => {
    const encoded = encodeRecords(records);
    const damaged = Buffer.from(encoded.bytes);
    const byte = position < 0 ? encoded.firstBytes + position : position;
    damaged.writeUInt8(damaged.readUInt8(byte) ^ 1, byte);
    const onMismatch = vi.fn<(reason: string) => void>();
    const batch = recordBatch({ ...at, records, encoded: { ...encoded, bytes: damaged }, onMismatch });
    expect((await wireBytes(batch)).equals(await wireBytes(plainMessages(records, at)))).toBe(true);
    expect(onMismatch).toHaveBeenCalledOnce();
  });

  it('is sent the plain way when kafkajs makes something else of a message', () => {
    const onMismatch = vi.fn<(reason: string) => void>();
    const batch = recordBatch({ ...at, records, encoded: encodeRecords(records), onMismatch });
    expect(batch.map(({ value }, index) => `${index} ${String(value)}`)).toEqual(
      records.map(({ value }, index) => `${index} ${String(value)}`),
    );
    expect(onMismatch).toHaveBeenCalledOnce();
  });

  it('is not made of nothing', () => {
    expect(() => recordBatch({ ...at, records: [], encoded: encodeRecords([]), onMismatch: vi.fn<() => void>() })).toThrow(RangeError);
  });
});
