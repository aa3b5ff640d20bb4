import { kindOf, scalarOf } from './json-value.ts';
import { UTC, type Zone } from './zone.ts';

/**
 * A time as a service writes it: ISO 8601, a date of HTTP or mail, `/Date(ms)/` of .NET, digits as in `20240131`, or seconds,
 * milliseconds, microseconds or nanoseconds since 1970.
 */
export type Time = string | number;

/** Numbers below this are in seconds. In seconds, this is in the year 5138. */
const MAX_SECONDS = 1e11;
/** Units of larger numbers: milliseconds, microseconds and nanoseconds. Each `below` is in the year 5138, too. */
const UNITS = [
  { below: 1e14, perMs: 1 },
  { below: 1e17, perMs: 1e3 },
  { below: 1e20, perMs: 1e6 },
];
const NUMBER = /^-?\d+(?:\.\d+)?$/;
const DATE = /^\d{4}-\d\d-\d\d$/;
const ZONE = /(:\d\d(?:\.\d+)?) ?(?:z|utc|gmt|([+-]\d\d):?(\d\d)?)$/i;
/** Dates that start with a weekday: RFC 9110, RFC 5322, and `Wed Oct 10 20:19:24 +0000 2018`. */
const WORDS = /^[A-Z][a-z]{2,8},? .*(?:GMT|[+-]\d{4})/;
/** The form of C's `asctime`, which RFC 9110 permits. It is UTC. */
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;
/** Maximum distance of a date from 1970 in JavaScript. */
const MAX_MS = 8.64e15;
/**
 * Digits from `2024` to `20240131T103000Z` are dates. As seconds, the short forms would be in 1970. As milliseconds, the long forms would
 * be after 2500.
 */
const DIGITS = /^((?:19|20)\d\d)(?:(\d\d)(?:(\d\d)(?:T?(\d\d)(\d\d)(\d\d)Z?)?)?)?$/;
/** `2024013110`: a date and an hour, or seconds in the year 2034. */
const DATE_AND_HOUR = /^20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])$/;
/** `10.11.2024`: `Date.parse` takes the first number for the month, and most of those who write so mean the day. */
const AMBIGUOUS = /^\d\d?[./-]\d\d?[./-]/;
const DOT_NET = /^\/Date\((-?\d+)(?:[+-]\d{4})?\)\/$/;

/**
 * Milliseconds since 1970; undefined for a value that isn't a time, or that can be read as two different ones. A time without a zone is of
 * `zone`. If that is undefined, a time of day without a zone isn't a time, but a date is: it begins in UTC.
 */
export function timeOf(value: unknown, zone: Zone | undefined): number | undefined {
  const ms = anyTime(value);
  if (ms === undefined || !(Math.abs(ms) <= MAX_MS)) return undefined;
  if (!namesNoZone(value)) return ms;
  return zone === undefined && !isDate(value) ? undefined : (zone ?? UTC).instantOf(ms);
}

/** True for a time of day that doesn't name its zone, such as `2026-01-10 09:00:00`. */
export function isTimeOfDay(value: unknown): boolean {
  return isUnzoned(value) && !isDate(value);
}

function isDate(value: unknown): boolean {
  return DATE.test(String(value)) || (DIGITS.test(String(value)) && String(value).length <= 8);
}

/** The reason why a record's value isn't a time, for messages. It quotes the value only if that looks like a time. */
export function timeFlaw(value: unknown): string {
  const scalar = scalarOf(value);
  if (isTimeOfDay(scalar))
    return `is a time without a zone, such as ${scalar}. Write the zone in which the service means it, as in since: { zone: Europe/Berlin }`;
  if (typeof scalar === 'string' && (AMBIGUOUS.test(scalar) || DATE_AND_HOUR.test(scalar)))
    return `is ${scalar.slice(0, 20)}, which can be read as two different times. Request another format, such as 2024-01-31T10:00:00Z`;
  return `is ${kindOf(value)}, and must be a time`;
}

/** True for a date or time of day without a zone. */
function isUnzoned(value: unknown): boolean {
  return anyTime(value) !== undefined && namesNoZone(value);
}

/** The same for a value that is a time. */
function namesNoZone(value: unknown): boolean {
  if (DIGITS.test(String(value))) return !String(value).endsWith('Z');
  if (typeof value !== 'string' || NUMBER.test(value)) return false;
  return !(ZONE.test(value) || WORDS.test(value) || ASCTIME.test(value) || DOT_NET.test(value));
}

/** Milliseconds since 1970, for a time without a zone as if it were UTC. */
function anyTime(value: unknown): number | undefined {
  const digits = digitsTime(value);
  if (digits !== undefined) return digits;
  if (typeof value === 'number') return value < MAX_SECONDS ? value * 1_000 : value / perMsOf(value);
  if (typeof value !== 'string' || value === '' || DATE_AND_HOUR.test(value)) return undefined;
  if (NUMBER.test(value)) return anyTime(Number(value));
  const dotNet = DOT_NET.exec(value);
  if (dotNet !== null) return Number(dotNet[1]);
  return AMBIGUOUS.test(value) ? undefined : parsed(parsable(value));
}

/** `Date.parse`, except for days that their month doesn't have: it takes February 30 for March 1. */
function parsed(time: string): number | undefined {
  const ms = Date.parse(time);
  const [date] = /^\d{4}-\d\d-\d\d/.exec(time) ?? [];
  const isWrong = date !== undefined && new Date(date).getUTCDate() !== Number(date.slice(-2));
  return Number.isNaN(ms) || isWrong ? undefined : ms;
}

/** How many of a number's unit a millisecond has; `NaN` if the number is too large to be a time. */
function perMsOf(number: number): number {
  return UNITS.find(({ below }) => number < below)?.perMs ?? NaN;
}

/** The time in a form that `Date.parse` reads, with a zone. */
function parsable(time: string): string {
  if (WORDS.test(time) || DATE.test(time)) return time;
  if (ASCTIME.test(time)) return `${time} GMT`;
  const zoned = ZONE.test(time)
    ? time.replace(
        ZONE,
        (_, before: string, hours?: string, minutes = '00') => before + (hours === undefined ? 'Z' : `${hours}:${minutes}`),
      )
    : `${time}Z`;
  return zoned.replace(' ', 'T');
}

/** Milliseconds since 1970 for a value that matches `DIGITS`; undefined for any other value. */
function digitsTime(value: unknown): number | undefined {
  const [found, year = '', month = '01', day = '01', ...clock] = DIGITS.exec(String(value)) ?? [];
  if (found === undefined) return undefined;
  const [hours = '00', minutes = '00', seconds = '00'] = clock;
  return parsed(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`);
}

/**
 * `like`, shifted by a number of milliseconds and in a similar form. With a shift of 0, `like` is returned unchanged. Backward, a local time
 * becomes the earliest that clocks show from there on, so that no record of an hour that comes twice is missed.
 */
export function shifted(like: Time, byMs: number, zone: Zone | undefined): Time {
  if (byMs === 0) return like;
  const instant = (timeOf(like, zone) ?? 0) + byMs;
  const ms = isUnzoned(like) ? shownAt(zone ?? UTC, instant, byMs) : instant;
  if (digitsTime(like) !== undefined) {
    const digits = isoOf(ms).replaceAll(/\D/g, '');
    let at = 0;
    const text = String(like).replaceAll(/\d/g, () => digits.charAt(at++));
    return typeof like === 'number' ? Number(text) : text;
  }
  if (typeof like === 'number') return like < MAX_SECONDS ? Math.floor(ms / 1_000) : Math.round(ms * perMsOf(like));
  if (WORDS.test(like) || ASCTIME.test(like)) return new Date(ms).toUTCString();
  if (DOT_NET.test(like)) return like.replace(/-?\d+/, String(ms));
  if (NUMBER.test(like)) return Number(like) < MAX_SECONDS ? secondsLike(like, ms) : String(Math.round(ms * perMsOf(Number(like))));
  return DATE.test(like) ? isoOf(ms).slice(0, 10) : isoLike(like, ms);
}

function shownAt(zone: Zone, instant: number, byMs: number): number {
  return byMs < 0 ? zone.earliestFrom(instant) : zone.localAt(instant);
}

/** The time `ms` in seconds with the fraction digits of `like`. A number of JavaScript is exact to a microsecond. */
function secondsLike(like: string, ms: number): string {
  const [whole = '', micros = ''] = (ms / 1_000).toFixed(6).split('.');
  const digits = like.split('.')[1]?.length;
  return digits === undefined ? whole : `${whole}.${micros.padEnd(digits, '0').slice(0, digits)}`;
}

const PARTS_OF_ISO = /^\d{4}-\d\d-\d\d([T ])\d\d:\d\d(?::\d\d(?:\.(\d+))?)?( ?(?:z|utc|gmt|([+-])(\d\d):?(\d\d)?))?$/i;

/** The time `ms` with the separator, fraction digits and zone of `like`, because some services compare times as text. */
function isoLike(like: string, ms: number): string {
  const parts = PARTS_OF_ISO.exec(like);
  if (parts === null) return isoOf(ms);
  const [, separator = 'T', digits, zone = '', sign, hours, minutes = '0'] = parts;
  const offset = sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  const [whole = '', rest = ''] = new Date(ms + offset).toISOString().replace('T', separator).split('.');
  const fraction = digits === undefined ? '' : `.${rest.slice(0, 3).padEnd(digits.length, '0').slice(0, digits.length)}`;
  return `${whole}${fraction}${zone}`;
}

/** `2024-01-01T00:00:00Z`, with milliseconds if there are any. */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** True for a format of `{since:…}`: `seconds`, `ms`, `date`, `http`, or a pattern of `%Y %m %d %H %M %S`. The date formats use the zone of `since`. */
export function isTimeFormat(format: string): boolean {
  return ['seconds', 'ms', 'date', 'http'].includes(format) || (/%[YmdHMS]/.test(format) && !/%[^YmdHMS]/.test(format));
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** The longest day: the one on which clocks are set back. */
const LONG_DAY_MS = DAY_MS + HOUR_MS;
/** Precision of a format in ms, by its smallest part. The smallest part comes first, because the first match counts. */
const PARTS = { S: 1_000, M: 60_000, H: HOUR_MS, d: LONG_DAY_MS, m: 31 * DAY_MS + HOUR_MS, Y: 366 * DAY_MS };

/** Maximum ms by which a time can be later than its text in a format: a date, for example, covers a whole day. */
export function roughness(format: string | undefined): number {
  if (format === undefined) return 0;
  if (format === 'ms') return 1;
  if (format === 'seconds' || format === 'http') return PARTS.S;
  if (format === 'date') return LONG_DAY_MS;
  return Object.entries(PARTS).find(([part]) => format.includes(`%${part}`))?.[1] ?? 0;
}

/** True for a format with a time of day that doesn't name its zone. */
export function isTimeOfDayFormat(format: string): boolean {
  return /%[HMS]/.test(format);
}

/** A time of `zone` in a format, as clocks in `shownIn` show it. Without a format, the time as the service wrote it. */
export function formatTime(value: Time, format: string | undefined, zone: Zone | undefined, shownIn: Zone = zone ?? UTC): string | number {
  if (format === undefined) return value;
  const ms = timeOf(value, zone) ?? 0;
  if (format === 'seconds') return Math.floor(ms / 1_000);
  if (format === 'ms') return Math.floor(ms);
  if (format === 'http') return new Date(ms).toUTCString();
  const [date = '', clock = ''] = new Date(shownIn.localAt(ms)).toISOString().split('T');
  if (format === 'date') return date;
  const [year = '', month = '', day = ''] = date.split('-');
  const parts: Readonly<Record<string, string>> = {
    Y: year,
    m: month,
    d: day,
    H: clock.slice(0, 2),
    M: clock.slice(3, 5),
    S: clock.slice(6, 8),
  };
  return format.replaceAll(/%([YmdHMS])/g, (_, part: string) => parts[part] ?? '');
}
