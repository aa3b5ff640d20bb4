import type { ErrorCode } from 'yaml';

export interface YamlSyntaxMessageOptions {
  readonly code: ErrorCode;
  readonly text: string;
  /** Where in the text the parser stopped. */
  readonly offset: number;
}

/** Says what is wrong with YAML in words of our own: the parser's may repeat the text, and the text may be a secret. */
export function yamlSyntaxMessage({ code, text, offset }: YamlSyntaxMessageOptions): string {
  if (text[offset] === '{' && text[offset - 1] === '$') return 'inside { } and [ ] a variable needs quotes. Write "${NAME}".';
  return MESSAGES[code];
}

const ALIAS = 'anchors and aliases are not read here. Write the value out.';
const TAG = 'tags are not read here. Write the value without the "!", or put it in quotes.';
const KEY =
  'a key can not stand here. Give it a line of its own with the indentation of its neighbours, or put a text with ": " in quotes.';

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
  DUPLICATE_KEY: 'the key stands here a second time. Keep one.',
  BAD_DIRECTIVE: 'a line that starts with % is no setting here. Remove it.',
  BAD_DQ_ESCAPE: 'a \\ in double quotes starts an escape that is none. Use single quotes, or write \\\\.',
  BAD_INDENT: 'the indentation does not fit. Give all keys of one mapping the same indentation, by spaces, and close every { and [.',
  BAD_SCALAR_START: 'a value that starts with this character needs quotes.',
  MISSING_CHAR: 'something is not closed or not parted: look for a missing quote, comma, } or ], or for a colon without a space after it.',
  MULTIPLE_DOCS: 'a second document starts here. Keep one, without ---.',
  TAB_AS_INDENT: 'a tab is no indentation. Use spaces.',
  UNEXPECTED_TOKEN: 'this does not belong here. Look for a bracket, quote or comma too many on this line or the one before.',
  RESOURCE_EXHAUSTION: 'lists and mappings are nested too deeply. Unfold them.',
  IMPOSSIBLE: 'this is no YAML that can be read.',
};
