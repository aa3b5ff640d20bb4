import { expect, test } from 'vitest';
import { nextMaxBytes } from './fetch.ts';

const KB = 1_024;

test('a response of many small records makes the next fetch smaller, and one of a few large records larger, within limits', () => {
  const after = (records: number, maxBytes: number, answers: number): number =>
    Array.from({ length: answers }).reduce((bytes: number) => nextMaxBytes({ maxBytes: bytes, records }), maxBytes);
  expect(nextMaxBytes()).toBe(128 * KB);
  expect(after(20_000, 512 * KB, 1)).toBe(256 * KB);
  expect(after(20_000, 512 * KB, 9)).toBe(64 * KB);
  expect(after(100, 128 * KB, 1)).toBe(256 * KB);
  expect(after(100, 128 * KB, 9)).toBe(4_096 * KB);
});

test('a response of some thousand records, or of none, keeps the fetch size', () => {
  for (const records of [0, 5_000, 10_000]) expect(nextMaxBytes({ maxBytes: 128 * KB, records })).toBe(128 * KB);
});
