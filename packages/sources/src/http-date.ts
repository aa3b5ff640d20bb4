/** Reads an HTTP date (RFC 9110, section 5.6.7) in any of its three forms, as epoch ms; undefined for anything else. */
export function httpDate(text: string | undefined): number | undefined {
  if (text === undefined || !/^\s*(mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s/i.test(text)) return undefined;
  // The asctime form names no zone and means UTC, which Date.parse doesn't know.
  const ms = Date.parse(/(gmt|utc|[+-]\d{4})\s*$/i.test(text) ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}
