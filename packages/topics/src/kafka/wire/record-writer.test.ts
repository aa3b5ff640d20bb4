import { describe, expect, it } from 'vitest';
import { RecordWriter } from './record-writer.ts';

/** Writes one part per size, of about twice `size` bytes: a number, null, ASCII, Latin-1, an emoji, and a text slightly longer than `LONG`. */
function writeParts(writer: RecordWriter, sizes: readonly number[]): Buffer {
  for (const size of sizes) {
    const start = writer.begin();
    writer.attributesAndTimestamp();
    writer.varint(size * 1000);
    for (const text of [null, 'a'.repeat(size), 'é'.repeat(size / 2), '😀', 'z'.repeat(33)]) writer.field(text);
    writer.finish(start);
  }
  return writer.written();
}

describe('a record writer', () => {
  it.each([
    ['short parts', [1, 2, 3]],
    ['parts whose length needs more bytes than the last one', [2, 20, 60, 150]],
    ['parts whose length needs fewer', [9000, 40, 1]],
    ['parts that need three bytes and more', [3, 9000, 2_000_000]],
  ])('writes the same bytes whatever its initial capacity: %s', (_, sizes) => {
    const expected = writeParts(new RecordWriter(8_000_000), sizes);
    const rooms = [...Array.from({ length: sizes.includes(2_000_000) ? 4 : 600 }).keys(), 9000, 20_000];
    for (const room of rooms) expect(writeParts(new RecordWriter(room), sizes).equals(expected)).toBe(true);
  });
});
