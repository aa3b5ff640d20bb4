import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyRecord } from './batch-records.fixture.ts';
import { encodeRecords } from './encode-records.ts';

const digits = fc.stringMatching(/^\d{0,40}$/);
/** Texts that can begin or end with half of a surrogate pair, so that two adjacent texts can form a whole pair. */
const anyText = fc.oneof(
  digits,
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom('', '\ud83d', '\udc00', 'é', 'a\ud83d', '\udc00b', '\u007f', '\u0080', 'x'.repeat(200)),
);

describe('a series in parts', () => {
  it('has the same bytes as whole values, from any record and up to any size', () => {
    fc.assert(
      fc.property(
        anyRecord,
        fc.record({ before: anyText, after: anyText, own: fc.array(fc.oneof(digits, anyText), { maxLength: 200 }) }),
        fc.record({ from: fc.nat(70), maxBytes: fc.oneof(fc.constant(Infinity), fc.nat(20_000)) }),
        ({ key, headers }, { before, after, own }, options) => {
          const common = headers === undefined ? { key } : { key, headers };
          const whole = own.map((part) => ({ ...common, value: before + part + after }));
          const parts = { before, partAt: (index: number) => own[index] ?? '', after };
          const { bytes, count, nextBytes } = encodeRecords({ length: own.length, at: (index) => whole[index], parts }, options);
          const expected = encodeRecords(whole, options);
          expect({ count, nextBytes }).toEqual({ count: expected.count, nextBytes: expected.nextBytes });
          expect(bytes.equals(expected.bytes)).toBe(true);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('builds no whole value if all parts except the first are digits', () => {
    const made: number[] = [];
    const at = (index: number) => {
      made.push(index);
      return { key: 'k', value: `<${index + 7}>` };
    };
    const { bytes } = encodeRecords({ length: 10_000, at, parts: { before: '<', partAt: (index) => String(index + 7), after: '>' } });
    expect(new Set(made)).toEqual(new Set([0]));
    const whole = Array.from({ length: 10_000 }, (_, index) => ({ key: 'k', value: `<${index + 7}>` }));
    expect(bytes.equals(encodeRecords(whole).bytes)).toBe(true);
  });
});
