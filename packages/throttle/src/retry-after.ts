import { rangeChecks } from './number-checks.ts';

/** Options of {@link retryAfterMs}. */
export interface RetryAfterOptions {
  /** The response's headers, with names in lowercase: only `retry-after`, `retry-after-ms`, `x-ms-retry-after-ms` and `date` are read. */
  readonly headers: Readonly<Partial<Record<string, string>>>;
  /** Epoch ms by the local clock, used if the response has no valid Date header. */
  readonly epochMs: number;
}

/**
 * Returns the wait that `Retry-After` (RFC 9110, section 10.2.3) asks for, in ms; undefined if it is absent or invalid. `retry-after-ms` and
 * `x-ms-retry-after-ms`, which some services send with it, come first because they are more precise. Reads what {@link waitMs} reads.
 */
export function retryAfterMs({ headers, epochMs }: RetryAfterOptions): number | undefined {
  const precise = headers['retry-after-ms'] ?? headers['x-ms-retry-after-ms'];
  const ms = precise === undefined ? undefined : waitMs({ text: `${precise} ms`, headers, epochMs });
  return ms ?? waitMs({ text: headers['retry-after'], headers, epochMs });
}

/** Options of {@link waitMs}. */
export interface WaitOptions extends RetryAfterOptions {
  /** The wait as the service writes it. */
  readonly text: string | undefined;
}

/**
 * Returns a wait that a service writes, in ms from now; 0 if it is over, undefined if `text` isn't a wait. Reads seconds (`5`, `0.493`),
 * units (`5 seconds`, `500 ms`, `6m0s`), and instants: seconds, milliseconds or microseconds since 1970, a date of HTTP, and ISO 8601 with a
 * zone. An instant is compared with the response's Date header, if there is one, because the local clock can be wrong.
 */
export function waitMs({ text, headers, epochMs }: WaitOptions): number | undefined {
  rangeChecks('waitMs').number({ epochMs });
  const given = text?.trim() ?? '';
  const number = NUMBER.test(given) ? Number(given) : undefined;
  if (number !== undefined && number < FIRST_INSTANT_S) return Math.ceil(number * 1_000);
  const duration = durationMs(given);
  if (duration !== undefined) return duration;
  const at = number === undefined ? (httpDate(given) ?? isoDate(given)) : instantMs(number);
  return at === undefined ? undefined : Math.max(0, Math.ceil(at - (httpDate(headers['date']) ?? epochMs)));
}

const NUMBER = /^\d{1,16}(?:\.\d{1,9})?$/;

/**
 * A number from this value on is an instant in seconds since 1970 (of 1973 or later). A smaller one is a wait in seconds (of about three
 * years or less).
 */
const FIRST_INSTANT_S = 1e8;
/** From these values on, an instant is in milliseconds or microseconds. Each is in the year 5138 in the smaller unit before it. */
const [FIRST_MS, FIRST_US] = [1e11, 1e14];

function instantMs(number: number): number {
  return number < FIRST_MS ? number * 1_000 : number < FIRST_US ? number : number / 1_000;
}

const UNITS = [
  [/^(?:ms|msecs?|milliseconds?)$/i, 1],
  [/^(?:s|secs?|seconds?)$/i, 1_000],
  [/^(?:m|mins?|minutes?)$/i, 60_000],
  [/^(?:h|hrs?|hours?)$/i, 3_600_000],
] as const;

/** Reads one or more numbers with units, such as `5 seconds` or `6m0s`. */
function durationMs(text: string): number | undefined {
  if (!/^(?:\d{1,9}(?:\.\d{1,9})? ?[a-z]{1,12} ?)+$/i.test(text)) return undefined;
  let ms = 0;
  for (const [, number = '', unit = ''] of text.matchAll(/(\d+(?:\.\d+)?) ?([a-z]+)/gi)) {
    const of = UNITS.find(([name]) => name.test(unit));
    if (of === undefined) return undefined;
    ms += Number(number) * of[1];
  }
  return Math.ceil(ms);
}

function isoDate(text: string): number | undefined {
  const ms = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)$/i.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** Reads an HTTP date (RFC 9110, section 5.6.7) in any of its three forms, as epoch ms. Returns undefined if `text` isn't a date. */
export function httpDate(text: string | undefined): number | undefined {
  if (text === undefined || !/^\s*(mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s/i.test(text)) return undefined;
  // The asctime form names no zone and means UTC. Without a zone, Date.parse would assume local time.
  const ms = Date.parse(/(gmt|utc|[+-]\d{4})\s*$/i.test(text) ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}
