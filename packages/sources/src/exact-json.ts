/**
 * The context that `JSON.parse` passes to a reviver. `source` is the source text of a primitive value, such as a number (ECMAScript 2026).
 */
interface ReviverContext {
  readonly source?: string;
}

interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context: ReviverContext) => unknown): unknown;
  rawJSON(text: string): unknown;
}

/**
 * Parses JSON so that no number loses a digit: a number that would lose one, such as an ID of 17 digits, becomes its source text.
 *
 * Throws a `SyntaxError` for text that isn't JSON and a `RangeError` for JSON that is nested too deeply.
 */
export function parseExact(text: string): unknown {
  // Only a number with 16 or more digits, or with an exponent of three or more digits, can lose digits.
  if (!/\d(?:\.?\d){15}|[eE][+-]?\d{3}/.test(text)) return JSON.parse(text);
  return revived(text, (source, value) => (isLossless(source, value) ? value : source));
}

/**
 * Parses JSON so that a number becomes its source text if JavaScript would spell it differently (21.0, 1e3), or if it is an integer from
 * 2^53 on. Throws like `parseExact`.
 */
export function parseSpelled(text: string): unknown {
  return respelled(text, (source, value) => (isExact(source, value) && !isWide(value) ? value : source));
}

/**
 * Parses JSON so that it can be written again unchanged: a number that JavaScript would spell differently becomes an object that
 * `JSON.stringify` writes with its original spelling (`JSON.rawJSON`).
 *
 * Throws a `SyntaxError` for text that isn't JSON and a `RangeError` for JSON nested more than 500 deep.
 */
export function parseUntouched(text: string): unknown {
  checkDepth(text);
  return respelled(text, (source, value) => (isExact(source, value) ? value : json.rawJSON(source)));
}

// TypeScript doesn't declare `JSON.rawJSON` and the reviver's context yet. Node 22 and later have both.
const json: ExactJson = JSON as unknown as ExactJson;

/**
 * Finds numbers that JavaScript may spell differently: with 16 digits or more, a point or an exponent, or `-0`. A number follows `":`, `[`,
 * `,` or the start of the text, so digits inside texts, such as dates, usually don't match.
 */
const RESPELLABLE = /(?:^|"\s*:|[[,])\s*-?(?:\d{16}|\d{1,15}[.eE])|(?:^|"\s*:|[[,])\s*-0/;

function respelled(text: string, read: (source: string, value: number) => unknown): unknown {
  return RESPELLABLE.test(text) ? revived(text, read) : JSON.parse(text);
}

function revived(text: string, read: (source: string, value: number) => unknown): unknown {
  return json.parse(text, (_, value, { source }) => {
    return typeof value === 'number' && source !== undefined ? read(source, value) : value;
  });
}

function isLossless(source: string, value: number): boolean {
  const digits = source
    .replace(/[eE].*$/, '')
    .replace(/(\.\d*?)0+$/, '$1')
    .replaceAll(/[-.]/g, '')
    .replace(/^0+/, '');
  if (digits === '') return true;
  const isNormal = Number.isFinite(value) && Math.abs(value) >= SMALLEST_NORMAL;
  return (isNormal && digits.length <= MOST_DIGITS) || (isExact(source, value) && !isWide(value));
}

/** A JavaScript number keeps every decimal number of up to this many digits, if it is at least `SMALLEST_NORMAL`. */
const MOST_DIGITS = 15;
/** A number smaller than this has fewer bits (IEEE 754). */
const SMALLEST_NORMAL = 2 ** -1022;

function isExact(source: string, value: number): boolean {
  return JSON.stringify(value) === source;
}

/** True for an integer from 2^53 on, which JavaScript can't distinguish from its neighbors. */
function isWide(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** Maximum nesting, in levels. Deeper JSON could overflow the stack of `JSON.stringify` and of recursive functions. */
const DEEPEST = 500;

function checkDepth(text: string): void {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text.charCodeAt(i);
    if (quoted) {
      if (char === BACKSLASH) i += 1;
      else if (char === QUOTE) quoted = false;
    } else if (char === QUOTE) quoted = true;
    else if (char === OPEN_BRACKET || char === OPEN_BRACE) {
      depth += 1;
      if (depth > DEEPEST) throw new RangeError(`the JSON text is nested more than ${DEEPEST} levels deep`);
    } else if (char === CLOSE_BRACKET || char === CLOSE_BRACE) depth -= 1;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
