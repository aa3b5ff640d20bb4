import * as fc from 'fast-check';
import type { BatchRecord } from './batch-record.ts';

const text = fc.oneof(
  fc.string({ maxLength: 80 }),
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: 'grapheme', maxLength: 9000 }),
);
const edges = fc.constantFrom(
  '',
  'é',
  '\u007f',
  '\u0080',
  'ÿa',
  '\ud83d',
  'a\udc00b',
  '\u0000',
  'x'.repeat(31),
  'x'.repeat(32),
  'x'.repeat(33),
  'x'.repeat(63),
  'é'.repeat(64),
);
const anyField = fc.oneof(text, edges, fc.uint8Array({ maxLength: 9000 }));

/** Records of every kind: tombstones, missing keys, bytes, empty and very long texts, lone surrogates, headers with names such as "1". */
export const anyRecord: fc.Arbitrary<BatchRecord> = fc.record(
  {
    key: fc.option(anyField),
    value: fc.option(anyField),
    headers: fc.dictionary(fc.oneof(text, fc.constantFrom('1', '0', '__proto__')), anyField, { maxKeys: 4, noNullPrototype: true }),
  },
  { requiredKeys: ['key', 'value'] },
);

/** Records of one shape, as for the IDs on a page of followers. Each value has 83 ASCII characters. */
export function pageOfRecords(count: number = 5000): BatchRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    key: 'followers/1234567',
    value: JSON.stringify({ user: '1234567', follower: String(9_000_000_000 + index * 37), page: 3, at: '2026-11-21T06:00:00.000Z' }),
  }));
}
