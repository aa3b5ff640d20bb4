import { expect, it } from 'vitest';
import { formatTime, shifted, timeOf } from './time.ts';

it.each([
  ['2024-01-01T10:00:00Z', '2024-01-01T09:55:00Z'],
  ['2024-01-01T10:00:00.000Z', '2024-01-01T09:55:00.000Z'],
  ['2024-01-01T10:00:00.123456Z', '2024-01-01T09:55:00.123000Z'],
  ['2024-01-01T10:00:00.5+02:00', '2024-01-01T09:55:00.5+02:00'],
  ['2024-01-01T00:02:00-0500', '2023-12-31T23:57:00-0500'],
  ['2024-01-01 10:00:00', '2024-01-01 09:55:00'],
  ['2024-01-01', '2023-12-31'],
  [1_704_103_200, 1_704_102_900],
  [1_704_103_200_000, 1_704_102_900_000],
  ['1704103200.000100', '1704102900.000100'],
  ['Mon, 01 Jan 2024 10:00:00 GMT', 'Mon, 01 Jan 2024 09:55:00 GMT'],
  ['Mon, 1 Jan 2024 12:00:00 +0200', 'Mon, 01 Jan 2024 09:55:00 GMT'],
  ['Mon Jan 01 10:00:00 +0000 2024', 'Mon, 01 Jan 2024 09:55:00 GMT'],
  ['/Date(1704103200000)/', '/Date(1704102900000)/'],
  ['/Date(1704103200000+0200)/', '/Date(1704102900000+0200)/'],
])('a time earlier than %s is written as that one: %s', (like, earlier) => {
  expect(shifted(like, -5 * 60_000)).toBe(earlier);
});

it.each(['Mon, 01 Jan', 'Mon', '/Date()/', '/Date(x)/', 'Mon, 99 Foo 2024 10:00:00 GMT', 'monday, 01 Jan 2024 10:00:00 GMT'])(
  '%j is no time',
  (text) => {
    expect(timeOf(text)).toBeUndefined();
  },
);

it('a time in the format of an HTTP header', () => {
  expect(formatTime('2024-01-01T10:00:00.5+02:00', 'http')).toBe('Mon, 01 Jan 2024 08:00:00 GMT');
});
