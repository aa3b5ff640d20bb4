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
 * Creates a function that removes secret values, such as the signer's, from texts, because errors quote the service's responses, and some of them
 * repeat the token. A word that has 8 consecutive characters of a secret, in a known spelling (plain, percent-encoded, base64, escaped for JSON or
 * HTML), becomes `***`. So does the whole text if only several words together have them. Texts are cut after 1,000 characters.
 */
export function redaction(values: readonly string[]): Redact {
  let pieces: Pieces | undefined;
  return (text) => {
    // Created on demand, because most requests succeed and need no redaction.
    pieces ??= piecesOf(values.flatMap(secretsIn));
    const repeats = repeatsOf(pieces);
    const cut = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
    const words = cut.replace(/\S+/g, (word) => (repeats(word) ? '***' : word));
    return repeats(words) ? '***' : words;
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

/** The pieces of secrets, by their length. */
type Pieces = ReadonlyMap<number, ReadonlySet<string>>;

function piecesOf(secrets: readonly string[]): Pieces {
  const sizes = new Map<number, Set<string>>();
  for (const secret of secrets.flatMap((plain) => [plain.toLowerCase(), skeleton(plain)])) {
    const size = Math.min(LONGEST_PIECE, secret.length);
    if (size < SHORTEST_SECRET) continue;
    const pieces = sizes.get(size) ?? new Set();
    for (let start = 0; start + size <= secret.length; start += 1) pieces.add(secret.slice(start, start + size));
    sizes.set(size, pieces);
  }
  return sizes;
}

/** Returns a function that tells whether a text contains a piece, in any reading. */
function repeatsOf(sizes: Pieces): (text: string) => boolean {
  const has = (text: string): boolean =>
    Array.from(sizes).some(([size, pieces]) => {
      for (let start = 0; start + size <= text.length; start += 1) if (pieces.has(text.slice(start, start + size))) return true;
      return false;
    });
  return (text) => {
    const all = readings(text);
    return all === undefined || [...all].some((reading) => has(reading.toLowerCase()) || has(skeleton(reading)));
  };
}

function skeleton(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
}
