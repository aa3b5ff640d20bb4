/** Options of {@link retryAfterMs}. */
export interface RetryAfterOptions {
  /** The response's headers, with names in lowercase: only `retry-after` and `date` are read. */
  readonly headers: Readonly<Partial<Record<string, string>>>;
  /** Epoch ms by the local clock, used if the response has no valid Date header. */
  readonly epochMs: number;
}

/**
 * Returns the wait that `Retry-After` (RFC 9110, section 10.2.3) asks for, in ms; undefined if it is absent or invalid. A date is compared
 * with the response's Date header, if there is one, because the local clock can be wrong.
 */
export function retryAfterMs({ headers, epochMs }: RetryAfterOptions): number | undefined {
  const given = headers['retry-after']?.trim();
  if (given !== undefined && /^\d{1,9}$/.test(given)) return Number(given) * 1000;
  const retryAt = httpDate(given);
  return retryAt === undefined ? undefined : Math.max(0, retryAt - (httpDate(headers['date']) ?? epochMs));
}

/** Reads an HTTP date (RFC 9110, section 5.6.7) in any of its three forms, as epoch ms. Returns undefined if `text` isn't a date. */
export function httpDate(text: string | undefined): number | undefined {
  if (text === undefined || !/^\s*(mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s/i.test(text)) return undefined;
  // The asctime form names no zone and means UTC. Without a zone, Date.parse would assume local time.
  const ms = Date.parse(/(gmt|utc|[+-]\d{4})\s*$/i.test(text) ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}
