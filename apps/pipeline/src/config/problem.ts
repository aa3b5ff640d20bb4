/** One thing about a configuration file that somebody has to see to. */
export interface Problem {
  /** 1-based; of the value meant, or of the key where the key is what is wrong or the value is missing. */
  readonly line: number;
  /** 1-based. */
  readonly column: number;
  /** Dotted path, `followers.credentials[0].bearer`; empty where the file as a whole is meant. */
  readonly key: string;
  /** What is wrong and what to do about it; never the value of a secret or of an environment variable. */
  readonly message: string;
}

export type KeyPath = readonly (string | number)[];

/** Writes a path the way people say it: `users[2].file`; a key that is no plain word stands in quotes. */
export function formatKey(path: KeyPath): string {
  return path.reduce<string>((before, part) => {
    if (typeof part === 'number') return `${before}[${part}]`;
    const isWord = /^[\w-]+$/.test(part);
    // Where a colon was forgotten the secret is part of the key.
    const other = path.includes('credentials') ? '(a key that is not shown)' : shown(part);
    const word = isWord ? part : other;
    return before === '' ? word : `${before}.${word}`;
  }, '');
}

/** A text in quotes for a message: control characters escaped, cut after 60 characters. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
