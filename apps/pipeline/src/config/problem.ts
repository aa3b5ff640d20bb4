import { escapedControls } from '../status/text/escaped-controls.ts';

/** One error or warning about a configuration file. */
export interface Problem {
  /** 1-based line of the value, or of the key if the key is wrong or the value is missing. Absent if unknown. */
  readonly line?: number;
  /** 1-based column. */
  readonly column?: number;
  /** Dotted path, `followers.credentials[0].bearer`; empty for the file as a whole. */
  readonly key: string;
  /** Describes the problem and what to do about it. Never quotes a value, except a number, a duration or a size. */
  readonly message: string;
}

export type KeyPath = readonly (string | number)[];

/** Writes a path in the usual form, such as `users[2].file`. It ends before a part that isn't a word, which may be a secret. */
export function formatKey(path: KeyPath): string {
  const end = path.findIndex((part) => typeof part === 'string' && !/^[\w.-]+$/.test(part));
  return path.slice(0, end < 0 ? path.length : end).reduce<string>((before, part) => {
    if (typeof part === 'number') return `${before}[${part}]`;
    return before === '' ? part : `${before}.${part}`;
  }, '');
}

/** A number, a time, a duration or a size in quotes for a message. Undefined for any other text, because it can be a misplaced secret. */
export function shownNumber(text: string): string | undefined {
  return /^[+-]?\d[\d.,:-]{0,20}(?: ?[a-z]{1,7})?$/i.test(text) ? quoted(text) : undefined;
}

export function quoted(text: string): string {
  return escapedControls(JSON.stringify(text));
}
