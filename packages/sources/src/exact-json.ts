/** A reviver's context: the source text of a number (ECMAScript 2026, `JSON.parse` source text access). */
interface ReviverContext {
  readonly source?: string;
}

interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context: ReviverContext) => unknown): unknown;
  rawJSON(text: string): unknown;
}

/**
 * Parses JSON so that no number loses a digit: one beyond 2^53, or that JavaScript would spell differently, becomes its source text.
 *
 * Throws a `SyntaxError` for what is no JSON and a `RangeError` for what is nested too deeply.
 */
export function parseExact(text: string): unknown {
  return exactly(text, (source, value) => (isExact(source, value) && !isWide(value) ? value : source));
}

/**
 * Parses JSON to be written out again untouched: a number that a JavaScript number would spell differently is kept as it is spelled,
 * as an object that `JSON.stringify` writes as that number (`JSON.rawJSON`).
 *
 * Throws a `SyntaxError` for what is no JSON and a `RangeError` for what is nested more than 500 deep.
 */
export function parseUntouched(text: string): unknown {
  checkDepth(text);
  return exactly(text, (source, value) => (isExact(source, value) ? value : json.rawJSON(source)));
}

// TypeScript's own declarations of JSON don't have these two yet; Node has, from version 22.
const json: ExactJson = JSON as unknown as ExactJson;

function exactly(text: string, read: (source: string, value: number) => unknown): unknown {
  // Only a number of many digits, a point or an exponent can be spelled in more ways than one, or `-0`: most texts take the fast way.
  if (!/\d{16}|\d[.eE]|-0/.test(text)) return JSON.parse(text);
  return json.parse(text, (_, value, { source }) => {
    return typeof value === 'number' && source !== undefined ? read(source, value) : value;
  });
}

function isExact(source: string, value: number): boolean {
  return JSON.stringify(value) === source;
}

/** True for an integer that JavaScript can't distinguish from its neighbours: only its text is exact. */
function isWide(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** Deeper than any record; `JSON.stringify` and recursive walks have stack for more. */
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
      if (depth > DEEPEST) throw new RangeError(`the JSON text is nested more than ${DEEPEST} deep`);
    } else if (char === CLOSE_BRACKET || char === CLOSE_BRACE) depth -= 1;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
