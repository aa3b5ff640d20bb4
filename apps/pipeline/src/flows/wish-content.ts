/** Deeper than any wish; JSON that is much deeper can be read, but not written again. */
const DEEPEST = 50;

/**
 * A malformed wish as a dead letter keeps it, as JSON text: its own text where that is JSON, so that no number in it is spelled anew;
 * else that text as a string.
 */
export function wishText(value: string | null): string {
  if (value === null) return 'null';
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
