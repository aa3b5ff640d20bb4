import { expect, it } from 'vitest';
import { duration } from './duration.ts';

it.each([
  ['15m', 900_000],
  ['900s', 900_000],
  ['900000ms', 900_000],
  ['1.5h', 5_400_000],
  ['30d', 2_592_000_000],
  [250, 250],
])('reads %s', (given, ms) => {
  expect(duration().parse(given)).toBe(ms);
});

it.each(['15', '15 m', 'm', '-1s', '1w', '', '0s', 0, -1, Infinity, NaN])('refuses %s', (given) => {
  expect(duration().safeParse(given).success).toBe(false);
});

it('says how a duration is written', () => {
  expect(duration().safeParse('soon').error?.issues[0]?.message).toBe('"soon" is not a duration. Write 15m, 900s or 900000ms.');
});

it('takes 0 where that will do', () => {
  expect([duration({ zero: true }).parse(0), duration({ zero: true }).parse('0ms')]).toEqual([0, 0]);
  expect(duration({ zero: true }).safeParse('soon').success).toBe(false);
});
