import { expect, test } from 'vitest';
import { readByteSize } from './byte-size.ts';

test.each([
  ['16MiB', 16_777_216],
  ['512KiB', 524_288],
  ['1GiB', 1_073_741_824],
  ['100B', 100],
])('%s is %d bytes', (text, bytes) => {
  expect(readByteSize({ text })).toBe(bytes);
});

test.each(['16MB', '16 MiB', '16', 'MiB', '1.5MiB', '-1B', ''])('%j is refused', (text) => {
  expect(readByteSize({ text })).toEqual({
    message: `"${text}" is not a size. Write a whole number with B, KiB, MiB or GiB, as in 16MiB.`,
  });
});

test.each(['0MiB', '99999999999999GiB'])('%j is refused', (text) => {
  expect(readByteSize({ text })).toEqual({ message: expect.stringContaining('as in 16MiB') });
});
