/**
 * Counts the IDs of a page by the commas in its text. Parsing would need far more memory for a page of millions. An empty list counts as 1.
 * If several lists are named `ids`, the longest counts. Returns 0 if there is none.
 */
export function idCount(body: Buffer): number {
  let most = 0;
  let depth = 0;
  let listed = 0;
  let quoteAt = -1;
  /** True if the last string at the top level of the page, since the last comma there, was `ids`. */
  let named = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (quoteAt >= 0) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) {
        if (depth === 1) named = isName(body, quoteAt, at + 1);
        quoteAt = -1;
      }
    } else if (byte === QUOTE) quoteAt = at;
    else if (byte === COMMA) {
      if (depth === 1) named = false;
      else if (depth === 2 && listed > 0) listed += 1;
    } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      depth += 1;
      if (depth === 2) listed = named && byte === OPEN_BRACKET ? 1 : 0;
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
      most = Math.max(most, listed);
      if (depth === 2) listed = 0;
      depth -= 1;
    }
  }
  return Math.max(most, listed);
}

/** True if a quoted text is `ids`, plain or escaped. `"\u0069\u0064\u0073"` is its longest spelling. */
function isName(body: Buffer, from: number, to: number): boolean {
  if (to - from > LONGEST_NAME) return false;
  const quoted = body.toString('latin1', from, to);
  if (!quoted.includes('\\')) return quoted === '"ids"';
  try {
    return JSON.parse(quoted) === 'ids';
  } catch {
    return false;
  }
}

const LONGEST_NAME = 20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
