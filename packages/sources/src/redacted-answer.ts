import type { Answer } from './answer.ts';

/** Shorter pieces are words, not secrets. */
const SHORTEST_SECRET = 6;

/**
 * Blots out of an answer whatever it repeats of the request's Authorization header: what a service says of a refused request is
 * quoted in errors, and some say it with the token.
 */
export function redactedAnswer(answer: Answer, authorization: string): Answer {
  const pieces = authorization.split(/[\s,="]+/).filter((piece) => piece.length >= SHORTEST_SECRET);
  const found = [authorization, ...pieces, ...pieces.map(decoded)].filter((piece) => answer.body.includes(piece));
  if (found.length === 0) return answer;
  const text = found.reduce((body, piece) => body.replaceAll(piece, '***'), answer.body.toString('utf8'));
  return { ...answer, body: Buffer.from(text) };
}

function decoded(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}
