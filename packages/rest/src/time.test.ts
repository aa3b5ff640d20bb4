import { expect, it } from 'vitest';
import { formatTime, isTimeOfDay, shifted, timeFlaw, timeOf } from './time.ts';
import { UTC, zoneOf } from './zone.ts';

const utc = (time: unknown): number | undefined => timeOf(time, UTC);

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
  ['1704103200', '1704102900'],
  ['1704103200.5', '1704102900.5'],
  ['1704103200.123456789', '1704102900.123457000'],
  ['1704103200000', '1704102900000'],
  [1_704_103_200_123_456, 1_704_102_900_123_456],
  ['1704103200123456', '1704102900123456'],
  ['1704103200000000000', '1704102900000000000'],
  ['Mon, 01 Jan 2024 10:00:00 GMT', 'Mon, 01 Jan 2024 09:55:00 GMT'],
  ['Mon, 1 Jan 2024 12:00:00 +0200', 'Mon, 01 Jan 2024 09:55:00 GMT'],
  ['Mon Jan 01 10:00:00 +0000 2024', 'Mon, 01 Jan 2024 09:55:00 GMT'],
  ['Monday, 01-Jan-24 10:00:00 GMT', 'Mon, 01 Jan 2024 09:55:00 GMT'],
  ['Mon Jan  1 10:00:00 2024', 'Mon, 01 Jan 2024 09:55:00 GMT'],
  ['2024-01-01 10:00:00 UTC', '2024-01-01 09:55:00 UTC'],
  ['2024-01-01 12:00:00 +0200', '2024-01-01 11:55:00 +0200'],
  ['2024-01-01 12:00:00.5+02', '2024-01-01 11:55:00.5+02'],
  ['20240101', '20231231'],
  [20_240_101, 20_231_231],
  ['2024', '2023'],
  ['202401', '202312'],
  ['20240101100000', '20240101095500'],
  ['20240101T100000Z', '20240101T095500Z'],
  ['/Date(1704103200000)/', '/Date(1704102900000)/'],
  ['/Date(1704103200000+0200)/', '/Date(1704102900000+0200)/'],
])('a time earlier than %s is written as that one: %s', (like, earlier) => {
  expect(shifted(like, -5 * 60_000, UTC)).toBe(earlier);
});

it.each(['Mon, 01 Jan', 'Mon', '/Date()/', '/Date(x)/', 'Mon, 99 Foo 2024 10:00:00 GMT', 'monday, 01 Jan 2024 10:00:00 GMT'])(
  '%j is not a time',
  (text) => {
    expect(utc(text)).toBeUndefined();
  },
);

it.each(['10.11.2024', '10/11/2024', '1-5-2024', '2024-02-30', '2023-02-29T10:00:00Z', '2024-04-31 10:00:00'])(
  '%j is not a time, because its month is ambiguous or too short',
  (text) => {
    expect(utc(text)).toBeUndefined();
  },
);

it.each([1e20, -1e17, '99999999999999999999'])('%j is out of the range of a date', (number) => {
  expect(utc(number)).toBeUndefined();
});

it('numbers are seconds, milliseconds, microseconds or nanoseconds, by their size', () => {
  const numbers = [1_704_103_200, 1_704_103_200_000, 1_704_103_200_000_000, '1704103200000000000'];
  expect(numbers.map(utc)).toEqual(numbers.map(() => 1_704_103_200_000));
});

it('a time in milliseconds has no fraction', () => {
  expect(formatTime('1704103200.000100', 'ms', UTC)).toBe(1_704_103_200_000);
});

it('a time in the format of an HTTP header', () => {
  expect(formatTime('2024-01-01T10:00:00.5+02:00', 'http', UTC)).toBe('Mon, 01 Jan 2024 08:00:00 GMT');
});

it('digits are a date of the calendar if they can be one, and else count from 1970', () => {
  expect(['20240115', 20_240_115, '2024', '20240115103000'].map((date) => new Date(utc(date) ?? 0).toISOString())).toEqual([
    '2024-01-15T00:00:00.000Z',
    '2024-01-15T00:00:00.000Z',
    '2024-01-01T00:00:00.000Z',
    '2024-01-15T10:30:00.000Z',
  ]);
  expect(['20241315', '20240230', 1_704_103_200, '0'].map(utc)).toEqual([20_241_315_000, 20_240_230_000, 1_704_103_200_000, 0]);
});

const LOCAL = ['2026-01-10 09:00:00', '2026-01-10T09:00:00.000', '2026-01-10T09:00', '20260110090000'];

it.each(LOCAL)('%s is a time only in a zone', (text) => {
  expect(isTimeOfDay(text)).toBe(true);
  expect(timeOf(text, undefined)).toBeUndefined();
  expect(timeFlaw(text)).toContain(`such as ${text}`);
  expect(timeOf(text, UTC)).toBe(Date.UTC(2026, 0, 10, 9));
  expect(timeOf(text, zoneOf('Asia/Tokyo'))).toBe(Date.UTC(2026, 0, 10, 0));
  expect(timeOf(text, zoneOf('America/New_York'))).toBe(Date.UTC(2026, 0, 10, 14));
});

it.each([
  '2026-01-10T09:00:00Z',
  '2026-01-10T09:00:00-05:00',
  '2026-01-10 09:00:00 UTC',
  '20260110T090000Z',
  'Sat, 10 Jan 2026 09:00:00 GMT',
  1_768_035_600,
])('%s is the same time in any zone', (time) => {
  expect(timeOf(time, zoneOf('Asia/Tokyo'))).toBe(timeOf(time, undefined));
  expect(isTimeOfDay(time)).toBe(false);
});

it('a date without a zone begins in the zone, or in UTC', () => {
  expect([timeOf('2026-01-10', undefined), timeOf(20_260_110, undefined)]).toEqual([Date.UTC(2026, 0, 10), Date.UTC(2026, 0, 10)]);
  expect(timeOf('2026-01-10', zoneOf('Asia/Tokyo'))).toBe(Date.UTC(2026, 0, 9, 15));
});

it.each([
  ['2026-01-10 09:00:00', '2026-01-10 08:55:00'],
  ['2026-11-01T03:02:00', '2026-11-01T02:57:00'],
  ['2026-03-08 03:02:00', '2026-03-08 01:57:00'],
  ['20260110000100', '20260109235600'],
])('%s of New York, 5 minutes earlier, is %s there', (like, earlier) => {
  expect(shifted(like, -5 * 60_000, zoneOf('America/New_York'))).toBe(earlier);
});

it('a format without a zone shows the time in the zone', () => {
  const time = '2026-01-10T00:30:00Z';
  const formats = ['%Y/%m/%d %H:%M', 'date', 'seconds', 'http'];
  const shown = (zone: string) => formats.map((format) => formatTime(time, format, zoneOf(zone)));
  expect(shown('America/Los_Angeles')).toEqual(['2026/01/09 16:30', '2026-01-09', 1_768_005_000, 'Sat, 10 Jan 2026 00:30:00 GMT']);
  expect(shown('UTC').slice(0, 2)).toEqual(['2026/01/10 00:30', '2026-01-10']);
});

it.each(['2024013110', '2026123123'])('%s can be an hour or seconds, so it is no time', (text) => {
  expect(timeOf(text, UTC)).toBeUndefined();
  expect(timeFlaw(text)).toContain(text);
});

it.each(['27/11/2026', '1.2.2026'])('the day of %s is not guessed', (text) => {
  expect(timeFlaw(text)).toContain(`is ${text}, which can be read as two different times`);
});

it('a value that is no time is not quoted', () => {
  expect(timeFlaw('secret')).toBe('is text, and must be a time');
});
