import type { ErrorCode } from 'yaml';

/** Describes a YAML error that begins at `offset`. Replaces the parser's message, because it can quote a secret from the text. */
export function yamlSyntaxMessage(code: ErrorCode, text: string, offset: number): string {
  if (text[offset] === '{' && text[offset - 1] === '$') return 'inside { } and [ ] a variable needs quotes. Write "${NAME}".';
  return MESSAGES[code];
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
