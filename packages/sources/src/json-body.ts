import type { Answer } from './answer.ts';

export type JsonBody = { readonly kind: 'json'; readonly value: unknown } | { readonly kind: 'broken'; readonly reason: string };

/** Parses an answer's body with `parse`; HTML, truncated and otherwise broken ones come with the reason in words. */
export function jsonBody(answer: Answer, parse: (text: string) => unknown): JsonBody {
  const text = decoded(answer.body);
  if (text === undefined) return { kind: 'broken', reason: 'what came is no UTF-8 text' };
  if (/^\s*</.test(text)) return { kind: 'broken', reason: 'HTML came instead of JSON' };
  if (/^\s*$/.test(text)) return { kind: 'broken', reason: 'an empty body came instead of JSON' };
  try {
    return { kind: 'json', value: parse(text) };
  } catch (error) {
    // The parser's message quotes the text, which may be anything.
    return {
      kind: 'broken',
      reason: error instanceof RangeError ? 'JSON that is nested too deeply came' : 'the JSON is truncated or malformed',
    };
  }
}

/** Over a page of ids a TextDecoder is much faster than `Buffer.toString`; it also leaves a byte order mark out. */
function decoded(body: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}
