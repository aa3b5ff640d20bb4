import { type ErrorCode, isNode, parseDocument, visit } from 'yaml';

/** Describes a YAML error that begins at `offset`. Replaces the parser's message, because it can quote a secret from the text. */
export function yamlSyntaxMessage(code: ErrorCode, text: string, offset: number): string {
  if (text[offset] === '{' && text[offset - 1] === '$') {
    if (isTypographicQuote(text[offset - 2])) return TYPOGRAPHIC;
    return 'inside { } and [ ] a variable needs quotes. Write "${NAME}".';
  }
  return MESSAGES[code];
}

const TYPOGRAPHIC = 'this quotation mark is typographic. Write a plain ".';

/** Explains typographic quotes around a value, as word processors and chats insert them. Undefined if the value has none. */
export function typographicQuotes(source: string): string | undefined {
  return isTypographicQuote(source[0]) && isTypographicQuote(source.at(-1))
    ? `is in typographic quotes (${source[0]} ${source.at(-1)}). Write plain ones (").`
    : undefined;
}

function isTypographicQuote(character: string | undefined): boolean {
  return character !== undefined && /[\u2018-\u201f\u00ab\u00bb\u2039\u203a]/.test(character);
}

interface Slip {
  readonly offset: number;
  readonly message: string;
}

/** A mistake that explains the parser's errors: an unclosed bracket or quote, or a tab as indentation. */
export function slipIn(text: string, codes: readonly ErrorCode[]): Slip | undefined {
  const [first] = codes;
  if (codes.includes('TAB_AS_INDENT')) return blankSlip(text, /^(?: *)(\t)/gm, "a tab can't indent. Use spaces");
  if (first === 'MISSING_CHAR' || first === 'BAD_INDENT') return unclosed(text);
  return undefined;
}

/** Finds a character that looks like a space in a place where YAML requires a plain one. */
export function foreignBlank(text: string): Slip | undefined {
  return (
    blankSlip(text, /^(?: *)([\u00a0\u2000-\u200b\u202f\u205f\u3000])/gmu, "a non-breaking space can't indent. Use plain spaces") ??
    blankSlip(
      text,
      /^ *(?:- +)*[\w.-]+:([\u00a0\u2000-\u200b\u202f\u205f\u3000])/gmu,
      'a non-breaking space follows this colon. Use a plain space',
    )
  );
}

function blankSlip(text: string, blank: RegExp, message: string): Slip | undefined {
  const [first, ...more] = text.matchAll(blank);
  if (first === undefined) return undefined;
  const others = more.length === 0 ? '' : `, here and in ${more.length} more ${more.length === 1 ? 'line' : 'lines'}`;
  return { offset: first.index + first[0].length - 1, message: `${message}${others}.` };
}

/** The unclosed quote, or else the innermost unclosed bracket. */
function unclosed(text: string): Slip | undefined {
  let quote: Slip | undefined;
  let bracket: Slip | undefined;
  visit(parseDocument(text, { prettyErrors: false, logLevel: 'error', keepSourceTokens: true }), (_, node) => {
    const token = isNode(node) ? node.srcToken : undefined;
    if (token?.type === 'flow-collection') {
      const { source } = token.start;
      if (token.end.length === 0) bracket = { offset: token.offset, message: `this ${source} isn't closed.` };
    } else if (token?.type === 'double-quoted-scalar' || token?.type === 'single-quoted-scalar') {
      const { source } = token;
      const mark = source.charAt(0);
      if (source.length === 1 || !source.endsWith(mark)) quote ??= { offset: token.offset, message: `this ${mark} isn't closed.` };
    }
  });
  return quote ?? bracket;
}

const ALIAS = "anchors and aliases aren't supported here. Write the value out.";
const TAG = 'tags aren\'t supported here. Write the value without the "!", or put it in quotes.';
const KEY = 'a key can\'t be here. Put it on its own line with the indentation of its neighbors, or quote a text that contains ": ".';

const MESSAGES: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: ALIAS,
  BAD_ALIAS: ALIAS,
  MULTIPLE_ANCHORS: ALIAS,
  MULTIPLE_TAGS: TAG,
  TAG_RESOLVE_FAILED: TAG,
  BAD_COLLECTION_TYPE: TAG,
  BAD_PROP_ORDER: KEY,
  BLOCK_AS_IMPLICIT_KEY: KEY,
  BLOCK_IN_FLOW: KEY,
  MULTILINE_IMPLICIT_KEY: KEY,
  KEY_OVER_1024_CHARS: KEY,
  NON_STRING_KEY: KEY,
  DUPLICATE_KEY: 'duplicate key. Keep one.',
  BAD_DIRECTIVE: "a line that starts with % isn't a setting. Remove it.",
  BAD_DQ_ESCAPE: 'a \\ in double quotes starts an invalid escape. Use single quotes, or write \\\\.',
  BAD_INDENT: "the indentation doesn't match. Indent all keys of a mapping with the same number of spaces, and close every { and [.",
  BAD_SCALAR_START: 'a value that starts with this character needs quotes.',
  MISSING_CHAR: "something isn't closed or separated: look for a missing quote, comma, } or ], or for a colon without a space after it.",
  MULTIPLE_DOCS: 'a second document starts here. Keep one, without ---.',
  TAB_AS_INDENT: "a tab can't indent. Use spaces.",
  UNEXPECTED_TOKEN: "this doesn't belong here. Look for an extra bracket, quote or comma on this line or the previous one.",
  RESOURCE_EXHAUSTION: 'lists and mappings are nested too deeply. Flatten them.',
  IMPOSSIBLE: "this isn't valid YAML.",
};
