import { expect, it } from 'vitest';
import { RequestWriter } from './request-writer.ts';

it.each([false, true])('a text of any length is written whole after any bytes (flexible: %s)', (flexible) => {
  const text = (length: number): Buffer => {
    const prefix = flexible ? varint(length + 1) : Buffer.from([length >> 8, length & 0xff]);
    return Buffer.concat([prefix, Buffer.from('x'.repeat(length))]);
  };
  const batch = Buffer.from('a batch');
  const size = flexible ? varint(batch.length + 1) : Buffer.from([0, 0, 0, batch.length]);
  for (let before = 0; before <= 300; before += 20) {
    for (let after = 0; after <= 300; after += 20) {
      const writer = new RequestWriter(flexible).string('x'.repeat(before)).bytes([batch]).string('x'.repeat(after)).uint8(7);
      const expected = Buffer.concat([text(before), size, batch, text(after), Buffer.from([7])]);
      expect(Buffer.concat(writer.pieces).equals(expected), `${before} bytes before the batch, ${after} after it`).toBe(true);
    }
  }
});

function varint(value: number): Buffer {
  return Buffer.from(value < 0x80 ? [value] : [(value & 0x7f) | 0x80, value >> 7]);
}
