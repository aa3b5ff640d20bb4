import fc from 'fast-check';
import { expect, test } from 'vitest';
import { digitRun } from './digit-run.ts';

const byte = fc.oneof({ weight: 20, arbitrary: fc.integer({ min: 0x30, max: 0x39 }) }, { weight: 1, arbitrary: fc.nat(255) });

test('whatever length is expected, the run ends where the digits do', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3 }), fc.array(byte, { maxLength: 40 }), fc.nat(45), (before, bytes, expected) => {
      const view = new DataView(Uint8Array.from([...before, ...bytes]).buffer);
      const other = bytes.findIndex((one) => one < 0x30 || one > 0x39);
      expect(digitRun(view, before.length, expected)).toBe(other === -1 ? bytes.length : other);
    }),
    { numRuns: 2_000 },
  );
});

test('no byte but a digit passes for one, wherever it stands among digits', () => {
  for (let other = 0; other < 256; other += 1) {
    for (let place = 0; place < 9; place += 1) {
      const bytes = Buffer.from('123456789"');
      bytes[place] = other;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const isDigit = other >= 0x30 && other <= 0x39;
      expect(digitRun(view, 0, 9)).toBe(isDigit ? 9 : place);
    }
  }
});
