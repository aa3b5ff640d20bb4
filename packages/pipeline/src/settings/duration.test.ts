import fc from 'fast-check';
import { expect, it } from 'vitest';
import { duration } from './duration.ts';
import { parseOptions } from './parse-options.ts';

function flawOf(given: unknown): string | undefined {
  return parseOptions(duration(), given).issues?.[0]?.message;
}

it.each([
  ['15m', 900_000],
  ['900s', 900_000],
  ['900000ms', 900_000],
  ['24h', 86_400_000],
  ['30d', 2_592_000_000],
  [250, 250],
])('reads %s', (given, ms) => {
  expect(duration().parse(given)).toBe(ms);
});

it.each([
  ['15 min', "isn't a duration. Write 15m, 900s or 900000ms."],
  ['10 sec', "isn't a duration. Write 10s or 10000ms."],
  ['1.5h', "isn't a duration. Write 90m, 5400s or 5400000ms."],
  ['900', "isn't a duration. Write 900s or 900ms."],
  ['soon', "isn't a duration. Write a whole number with ms, s, m, h or d, such as 15m."],
  ['-15m', "isn't a duration. Write a whole number with ms, s, m, h or d, such as 15m."],
  ['', "isn't a duration. Write a whole number with ms, s, m, h or d, such as 15m."],
  ['0s', 'must be longer than 0.'],
  [0, 'must be longer than 0.'],
  [-1, 'must be longer than 0.'],
  [NaN, 'must be text or a number.'],
  ['999999999999999999d', 'is longer than the maximum of 3650d.'],
])('refuses %j with what was probably meant', (given, message) => {
  expect(flawOf(given)).toBe(message);
});

it('accepts 0 if it makes sense', () => {
  expect([duration({ zero: true }).parse(0), duration({ zero: true }).parse('0ms')]).toEqual([0, 0]);
  expect(duration({ zero: true }).safeParse('soon').success).toBe(false);
});

it('suggests only valid values', () => {
  fc.assert(
    fc.property(fc.nat(3_650), fc.constantFrom(' ms', ' sec', ' minutes', ' hours', 'days', 'H'), (count, word) => {
      const flaw = flawOf(`${count}${word}`);
      fc.pre(flaw !== undefined);
      const proposed = /Write ((?:\d+[a-z]+(?:, | or )?)+)\.$/.exec(flaw)?.[1]?.split(/, | or /) ?? [];
      const read = proposed.map((text) => duration().parse(text));
      expect(new Set(read).size).toBe(count === 0 ? 0 : 1);
    }),
  );
});
