import * as z from 'zod';

/**
 * A schema for an ID that a service sends as a number or as text. Returns its digits or its text, never empty. It refuses a number from
 * 2^53 on, which `JSON.parse` may have rounded. `parseExact` returns such a number as text.
 */
export function exactId(): z.ZodType<string, string | number> {
  return z.union([z.string().min(1), z.int()]).transform(String);
}
