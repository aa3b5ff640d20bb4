import { readings } from './readings.ts';

/** Number of consecutive characters of a secret that must not appear in a text. */
const LONGEST_PIECE = 8;
/** Minimum length of a secret. Shorter texts count as words. */
const SHORTEST_SECRET = 6;
/** Maximum length of a service's text that an error quotes. */
const LONGEST_TEXT = 1_000;

/** Parameters of OAuth 1.0a that aren't secret: they are the same for every client, or new in each request. */
const NO_SECRET = /^oauth_(?:nonce|signature_method|timestamp|version)$/;

/** Removes pieces of a secret from a text. */
export type Redact = (text: string) => string;

/**
 * Creates a function that removes the signer's values from texts, because errors quote the service's responses, and some of them repeat the
 * token. No result repeats 8 consecutive characters of a secret in a known spelling (percent-encoded, base64, escaped for JSON or HTML, split). Plain pieces
 * become `***`. For other spellings, the word that contains them does, or else the whole text. Texts are cut after 1,000 characters.
 */
export function redaction(values: readonly string[]): Redact {
  let pieces: Pieces | undefined;
  return (text) => {
    // Created on demand, because most requests succeed and need no redaction.
    pieces ??= piecesOf(values.flatMap(secretsIn));
    const { blotted, repeated } = pieces;
    const cut = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
    const words = blotted(cut).replace(/\S+/g, (word) => (repeated(word) ? '***' : word));
    return repeated(words) ? '***' : words;
  };
}

/** Returns the secret parts of a signer's value, as sent and decoded. */
function secretsIn(value: string): string[] {
  const named = [...value.matchAll(/([\w-]+)="([^"]*)"/g)];
  const given =
    named.length > 0
      ? named.filter(([, name = '']) => !NO_SECRET.test(name)).map(([, , secret = '']) => secret)
      : value.replace(/^(?:bearer|basic|token|apikey)\s+/i, '').split(/[\s,"]+/);
  // The value itself may be encoded, for example as base64.
  const decoded = given.flatMap((secret) => [...(readings(secret) ?? [])].filter(({ length }) => length >= LONGEST_PIECE));
  return [...new Set([...given, ...decoded])];
}

interface Pieces {
  /** Returns a text with `***` in place of plain pieces of a secret. */
  readonly blotted: (text: string) => string;
  /** Returns true if a text, in any reading, contains a piece of a secret. */
  readonly repeated: (text: string) => boolean;
}

function piecesOf(secrets: readonly string[]): Pieces {
  const sizes = new Map<number, Set<string>>();
  for (const secret of secrets.flatMap((plain) => [plain.toLowerCase(), skeleton(plain)])) {
    const size = Math.min(LONGEST_PIECE, secret.length);
    if (size < SHORTEST_SECRET) continue;
    const pieces = sizes.get(size) ?? new Set();
    for (let start = 0; start + size <= secret.length; start += 1) pieces.add(secret.slice(start, start + size));
    sizes.set(size, pieces);
  }

  const found = function* (text: string): Generator<readonly [start: number, end: number]> {
    for (let start = 0; start < text.length; start += 1) {
      for (const [size, pieces] of sizes) if (pieces.has(text.slice(start, start + size))) yield [start, start + size];
    }
  };
  const has = (text: string): boolean => found(text).next().done !== true;

  return {
    blotted(text) {
      const lower = text.toLowerCase();
      // Some letters are longer in lowercase, which shifts positions. Then the caller replaces whole words or the whole text instead.
      if (lower.length !== text.length) return text;
      let blotted = '';
      let from = 0;
      for (const [start, end] of found(lower)) {
        if (start >= from) blotted += `${text.slice(from, start)}***`;
        from = Math.max(from, end);
      }
      return blotted + text.slice(from);
    },
    repeated(text) {
      const all = readings(text);
      if (all === undefined) return true;
      return [...all].some((reading) => has(reading.toLowerCase()) || has(skeleton(reading)));
    },
  };
}

function skeleton(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
}
