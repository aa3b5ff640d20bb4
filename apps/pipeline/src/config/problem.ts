import { nearest } from '@headgate/pipeline/internal';
import { escapedControls } from '../status/text/escaped-controls.ts';

/** One error or warning about a configuration file. */
export interface Problem {
  /** 1-based line of the value, or of the key if the key is wrong or the value is missing. Absent if unknown. */
  readonly line?: number;
  /** 1-based column. */
  readonly column?: number;
  /** Number of marked characters from the column; they may extend past the end of the line. */
  readonly length?: number;
  /** The line of the file, in which possible secrets are masked, and a line that marks the place. */
  readonly excerpt?: readonly [line: string, marks: string];
  /** Dotted path, `followers.credentials[0].bearer`; empty for the file as a whole. */
  readonly key: string;
  /** Describes the problem and what to do about it. */
  readonly message: string;
}

export type KeyPath = readonly (string | number)[];

/** Writes a path in the usual form, such as `users[2].file`. Hides keys that might contain a secret. */
export function formatKey(path: KeyPath, isShown: (key: string) => boolean): string {
  return path.reduce<string>((before, part) => {
    if (typeof part === 'number') return `${before}[${part}]`;
    const key = isShown(part) ? part : '(hidden: it may be a secret)';
    return before === '' ? key : `${before}.${key}`;
  }, '');
}

/**
 * Returns a function that decides whether a message may show a key. If the user forgets a colon or the space after it, a secret can become
 * a key without a value. Such a key is shown only if it resembles a known key. `withValue` contains the keys that have a value.
 */
export function shownKeys(known: readonly string[], withValue: ReadonlySet<string>): (key: string) => boolean {
  return (key) => /^[\w.-]+$/.test(key) && ((withValue.has(key) && isShowable(key)) || nearest(key, known) !== undefined);
}

/** A text in quotes for a message, unless it is long or might contain a secret. */
export function shown(text: string): string {
  return isShowable(text) ? quoted(text) : '(hidden: it may be a secret)';
}

/** Whether a text is short and doesn't look like a secret. */
export function isShowable(text: string): boolean {
  return text.length <= 24 && !mayHoldSecret(text);
}

/** A path in quotes for a message, unless it has over 200 characters, or one of its parts might contain a secret. */
export function shownPath(path: string): string {
  return path.length > 200 || path.split(/[/\\.]/u).some((part) => mayHoldSecret(part)) ? '(hidden: it may be a secret)' : quoted(path);
}

/**
 * Whether a text might contain a secret: it has an equals sign, or at least six characters after a colon or @ that isn't at its start, or a
 * word of at least 16 characters with letters and digits. A port has fewer than six digits.
 */
function mayHoldSecret(text: string): boolean {
  return /=|(?!^)[:@].{6}|(?=\S*\d)(?=\S*[a-z])\S{16}/isu.test(text);
}

export function quoted(text: string): string {
  return escapedControls(JSON.stringify(text));
}
