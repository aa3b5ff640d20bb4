import type { z } from 'zod';
import type { WishRecord } from '../lanes/wishes-in-order.ts';
import { parseWish } from '../records/wish.ts';

/** What a wish asks for. Throws what `parseWish` throws; where its value can't be read, why. */
export function readWish<Wish>(schema: z.ZodType<Wish>, { value, unreadable }: WishRecord): Wish {
  if (value === null && unreadable !== undefined) throw unreadable;
  return parseWish(schema, value);
}

/** Deeper than any wish; JSON that is much deeper can be read, but not written again. */
const DEEPEST = 50;
/** Characters of the largest wish that is kept whole, and of the beginning that is kept of a larger one. */
const LARGEST = 32 * 1024 * 1024;
const KEPT = 500;

/**
 * A malformed wish as a dead letter keeps it, as JSON text: its own text where that is JSON, so that no number in it is spelled anew;
 * else that text as a string.
 */
export function wishText(value: string | null): string {
  if (value === null) return 'null';
  // A compressed record may hold far more than any topic takes; spelled as JSON it may be more than a string can hold.
  if (value.length > LARGEST) return JSON.stringify(`${value.slice(0, KEPT)}…`);
  try {
    JSON.parse(value);
    if (depthOf(value) <= DEEPEST) return value;
  } catch {
    // No JSON.
  }
  return JSON.stringify(value);
}

function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [mark] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[{]|[\]}]/g)) {
    if (mark === '[' || mark === '{') deepest = Math.max(deepest, (depth += 1));
    else if (mark === ']' || mark === '}') depth -= 1;
  }
  return deepest;
}
