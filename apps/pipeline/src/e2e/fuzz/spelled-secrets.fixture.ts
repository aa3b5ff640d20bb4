/** A notation of a secret. Any `length` characters in that notation reveal about 8 characters of the secret. */
interface Spelling {
  readonly name: string;
  readonly length: number;
  readonly spell: (secret: string) => string;
}

const each = (secret: string, spell: (code: number, char: string) => string): string =>
  Array.from(secret)
    .map((char) => spell(char.charCodeAt(0), char))
    .join('');
const hex = (code: number): string => code.toString(16).padStart(2, '0');

export const SPELLINGS: readonly Spelling[] = [
  { name: 'plain', length: 8, spell: (secret) => secret },
  { name: 'upper case', length: 8, spell: (secret) => secret.toUpperCase() },
  { name: 'beginning', length: 8, spell: (secret) => secret.slice(0, 12) },
  { name: 'end', length: 8, spell: (secret) => secret.slice(-12) },
  { name: 'percent', length: 24, spell: (secret) => each(secret, (code) => `%${hex(code)}`) },
  { name: 'escapes', length: 54, spell: (secret) => each(secret, (code) => `\\u00${hex(code)}`) },
  { name: 'entities', length: 60, spell: (secret) => each(secret, (code) => `&#${code};`) },
  { name: 'base64', length: 14, spell: (secret) => Buffer.from(secret).toString('base64') },
  { name: 'base64url', length: 14, spell: (secret) => Buffer.from(secret).toString('base64url') },
  { name: 'base64 twice', length: 20, spell: (secret) => Buffer.from(Buffer.from(secret).toString('base64')).toString('base64') },
  { name: 'percent of base64', length: 42, spell: (secret) => each(Buffer.from(secret).toString('base64'), (code) => `%${hex(code)}`) },
  { name: 'split by dots', length: 15, spell: (secret) => Array.from(secret).join('.') },
  { name: 'split by spaces', length: 15, spell: (secret) => Array.from(secret).join(' ') },
  { name: 'split once', length: 9, spell: (secret) => `${secret.slice(0, 7)}\u0000${secret.slice(7, 14)}\u200B${secret.slice(14)}` },
];

/** Returns a function that describes the first secret in a text, in any of the notations; undefined if the text has none. */
export function secretFinder(secrets: readonly string[]): (text: string) => string | undefined {
  /** All pieces that reveal a secret, by their first 8 characters. */
  const pieces = new Map<string, { readonly piece: string; readonly name: string }[]>();
  for (const secret of secrets) {
    for (const { name, length, spell } of SPELLINGS) {
      const spelled = spell(secret).toLowerCase();
      for (let at = 0; at + length <= spelled.length; at += 1) {
        const piece = spelled.slice(at, at + length);
        const alike = pieces.get(piece.slice(0, 8)) ?? [];
        pieces.set(piece.slice(0, 8), [...alike, { piece, name }]);
      }
    }
  }
  return (text) => {
    // Searches the text as it is, and without JSON's escapes.
    for (const shown of [text, text.replace(/\\(?:u([\da-f]{4})|(.))/gi, unescaped)]) {
      const lower = shown.toLowerCase();
      for (let at = 0; at + 8 <= lower.length; at += 1) {
        const found = pieces.get(lower.slice(at, at + 8))?.find(({ piece }) => lower.startsWith(piece, at));
        if (found !== undefined) return `${found.name}: ${JSON.stringify(shown.slice(Math.max(0, at - 150), at + 100))}`;
      }
    }
    return undefined;
  };
}

function unescaped(_: string, code: string | undefined, char: string | undefined): string {
  return code === undefined ? (char ?? '') : String.fromCharCode(parseInt(code, 16));
}
