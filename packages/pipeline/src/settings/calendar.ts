import * as z from 'zod';

/** Returns a schema for a time of day, as `HH:MM`. */
export function timeOfDay(): z.ZodString {
  return z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'isn\'t a time of day. Write hours and minutes, such as "00:00".');
}

/** Returns a schema for a time zone that the runtime's `Intl` accepts, such as `Europe/Berlin`. */
export function timeZone(): z.ZodString {
  return z.string().refine(isZone, "isn't a time zone. Write one such as UTC or Europe/Berlin.");
}

function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).format(0) !== '';
  } catch {
    return false;
  }
}
