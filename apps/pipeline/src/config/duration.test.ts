import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Complaint } from './complaint.ts';
import { readDuration } from './duration.ts';

test.each([
  ['15m', 900_000],
  ['900s', 900_000],
  ['900000ms', 900_000],
  ['24h', 86_400_000],
  ['1d', 86_400_000],
])('%s is %d ms', (text, ms) => {
  expect(readDuration({ text })).toBe(ms);
});

test.each([
  ['15 min', '"15 min" is not a duration. Write 15m, 900s or 900000ms.'],
  ['10 sec', '"10 sec" is not a duration. Write 10s or 10000ms.'],
  ['1.5h', '"1.5h" is not a duration. Write 90m, 5400s or 5400000ms.'],
  ['900', '"900" is not a duration. Write 900s or 900ms.'],
  ['soon', '"soon" is not a duration. Write a whole number with ms, s, m, h or d, as in 15m.'],
  ['-15m', '"-15m" is not a duration. Write a whole number with ms, s, m, h or d, as in 15m.'],
  ['', '"" is not a duration. Write a whole number with ms, s, m, h or d, as in 15m.'],
  ['0s', 'must be longer than nothing.'],
  ['999999999999999999d', 'is longer than 3650d. Write less.'],
])('%j is refused with what was probably meant', (text, message) => {
  expect(readDuration({ text })).toEqual(new Complaint(message));
});

test('0s may stand where asked for', () => {
  expect(readDuration({ text: '0s', zero: true })).toBe(0);
});

test('what came from a variable is not repeated', () => {
  expect(readDuration({ text: 'value of it', written: '${WINDOW}' })).toMatchObject({
    message: expect.not.stringContaining('value of it'),
  });
  expect(readDuration({ text: '15 min', written: '${WINDOW}' })).toMatchObject({ message: expect.not.stringContaining('900') });
});

test('every proposal can be written', () => {
  fc.assert(
    fc.property(fc.nat(3650), fc.constantFrom(' ms', ' sec', ' minutes', ' hours', 'days', 'H'), (count, word) => {
      const result = readDuration({ text: `${count}${word}` });
      fc.pre(result instanceof Complaint);
      const proposed = /Write ((?:\d+[a-z]+(?:, | or )?)+)\.$/.exec(result.message)?.[1]?.split(/, | or /) ?? [];
      const read = proposed.map((text) => readDuration({ text }));
      expect(new Set(read).size).toBe(count === 0 ? 0 : 1);
      expect(read.every((ms) => typeof ms === 'number')).toBe(true);
    }),
  );
});
