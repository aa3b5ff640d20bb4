import { escapedControls } from '../status/text/escaped-controls.ts';
import { nearest } from './nearest.ts';

/** One thing about a configuration file that somebody has to see to. */
export interface Problem {
  /** 1-based; of the value meant, or of the key where the key is what is wrong or the value is missing. Absent: the place isn't known. */
  readonly line?: number;
  /** 1-based. */
  readonly column?: number;
  /** Characters that are meant, from the column on; they may go over the line's end. */
  readonly length?: number;
  /** The line as it stands there, without what may be a secret, and marks under what is meant. */
  readonly excerpt?: readonly [line: string, marks: string];
  /** Dotted path, `followers.credentials[0].bearer`; empty where the file as a whole is meant. */
  readonly key: string;
  /** What is wrong and what to do about it; never the value of a secret or of an environment variable. */
  readonly message: string;
}

export type KeyPath = readonly (string | number)[];

/** Writes a path the way people say it: `users[2].file`. Where a colon or its space was forgotten, the secret is part of the key: a key shows where it is a known one, or nearly. */
export function formatKey(path: KeyPath, known: readonly string[]): string {
  return path.reduce<string>((before, part) => {
    if (typeof part === 'number') return `${before}[${part}]`;
    const key = /^[\w.-]+$/.test(part) && nearest(part, known) !== undefined ? part : '(hidden: it may be a secret)';
    return before === '' ? key : `${before}.${key}`;
  }, '');
}

/** A text in quotes for a message, unless it may hold a secret. */
export function shown(text: string): string {
  return isShowable(text) ? quoted(text) : '(hidden: it may be a secret)';
}

/** Whether a text is short and holds no secret. */
export function isShowable(text: string): boolean {
  return text.length <= 24 && !mayHoldSecret(text);
}

/** A path in quotes for a message, unless it may hold a secret: it may be long where its parts look like words. */
export function shownPath(path: string): string {
  return path.length > 200 || path.split(/[/\\.]/u).some((part) => mayHoldSecret(part)) ? '(hidden: it may be a secret)' : quoted(path);
}

/**
 * Whether a text looks like a line of an environment file; like a header or an address with a password, with more behind a colon or an @ than a
 * port has digits; or has a word like a token.
 */
function mayHoldSecret(text: string): boolean {
  return /=|(?!^)[:@].{6}|(?=\S*\d)(?=\S*[a-z])\S{16}/isu.test(text);
}

export function quoted(text: string): string {
  return escapedControls(JSON.stringify(text));
}
