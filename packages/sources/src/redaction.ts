/** Shorter pieces are words, not secrets. */
const SHORTEST_SECRET = 6;

/** Words every such header has. */
const NO_SECRET = /^(?:bearer|oauth|oauth_\w+=?|hmac-sha1)$/i;

/** Takes out of a text what it repeats of a secret. */
export type Redact = (text: string) => string;

/**
 * Makes what blots a request's Authorization header out of texts, whole or in pieces, however they are percent-encoded or cased: what a
 * service says of a request is quoted in errors, and some say it with the token.
 */
export function redaction(authorization: string): Redact {
  let pattern: RegExp | undefined;
  return (text) => {
    // Made when it is needed: most requests go well, and nothing is said of them.
    pattern ??= patternOf(authorization);
    return text.replace(pattern, '***');
  };
}

function patternOf(authorization: string): RegExp {
  const pieces = [authorization, ...authorization.split(/[\s,"]+/), ...authorization.split(/[\s,="]+/)];
  const spellings = pieces
    .filter((piece) => piece.length >= SHORTEST_SECRET && !NO_SECRET.test(piece))
    .flatMap((piece) => [piece, decoded(piece), encodeURIComponent(piece), Buffer.from(piece).toString('base64').replace(/=+$/, '')]);
  // The longest first: a piece of it must not leave the rest.
  const longestFirst = [...new Set(spellings)].sort((a, b) => b.length - a.length);
  return longestFirst.length === 0
    ? /(?!)/g
    : new RegExp(longestFirst.map((spelling) => spelling.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|'), 'gi');
}

function decoded(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}
