import type { z } from 'zod';
import { parseExact } from '../exact-json.ts';
import type { Verdict } from '../verdict.ts';
import type { HttpResponse } from './response.ts';

/** A parsed body, or the reason why it can't be parsed. The reason quotes nothing of the body. */
export type JsonBody = { readonly kind: 'json'; readonly value: unknown } | { readonly kind: 'broken'; readonly reason: string };

/**
 * Returns why a response with an error status seems to come from a gateway in front of the service: its body is HTML. Undefined for JSON, for
 * other text and for an empty body, which any service can send.
 */
export function foreignBody(answer: HttpResponse): string | undefined {
  return /^\s*</.test(answer.body.toString('utf8', 0, FIRST_BYTES)) ? HTML : undefined;
}

const HTML = 'got HTML instead of JSON';
/** The white space before a page of HTML is shorter than this. */
const FIRST_BYTES = 1_024;

/** Parses a response's body with `parse`. For HTML, truncated JSON and other broken bodies, returns the reason. */
export function jsonBody(answer: HttpResponse, parse: (text: string) => unknown): JsonBody {
  const text = decoded(answer)?.replace(GUARD, '');
  if (text === undefined) return { kind: 'broken', reason: "the body isn't text in UTF-8 or in the charset of its content-type" };
  if (/^\s*</.test(text)) return { kind: 'broken', reason: HTML };
  if (/^\s*$/.test(text)) return { kind: 'broken', reason: 'got an empty body instead of JSON' };
  try {
    return { kind: 'json', value: parse(text) };
  } catch (error) {
    // The parser's message quotes the body, which may contain a secret.
    return {
      kind: 'broken',
      reason: error instanceof RangeError ? 'the JSON is nested too deeply' : 'the JSON is truncated or malformed',
    };
  }
}

/**
 * Returns the verdict on a JSON body: `ok` with its value, `schema-mismatch` with the field that doesn't match the schema, or `transient`
 * for a body that isn't JSON. `parse` defaults to `parseExact`, which returns long integers as text; `exactId` accepts either.
 */
export function jsonVerdict<Value>(
  answer: HttpResponse,
  schema: z.ZodType<Value>,
  parse: (text: string) => unknown = parseExact,
): Verdict<Value> {
  const body = jsonBody(answer, parse);
  if (body.kind === 'broken') return { kind: 'transient', reason: body.reason };
  const parsed = schema.safeParse(body.value);
  return parsed.success ? { kind: 'ok', value: parsed.data } : { kind: 'schema-mismatch', where: whereOf(parsed.error, body.value) };
}

/** Describes the first mismatch. Leaves out the schema's own message, which may quote the response. */
function whereOf({ issues: [issue] }: z.ZodError, value: unknown): string {
  const { path = [] } = issue ?? {};
  let at = value;
  for (const key of path) at = typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined;
  const place = path.length === 0 ? '' : `${path.join('.')}: `;
  const expected = issue?.code === 'invalid_type' ? `expected ${issue.expected}` : `unexpected value (${issue?.code})`;
  return `${place}${expected}, got ${jsonKind(at)}`;
}

/** Gerrit and others write these characters before their JSON, so that a browser doesn't run it as a script. */
const GUARD = /^\s*\)\]\}'?,?\s*/;

/**
 * Decodes a text without its byte order mark. JSON is UTF-8 (RFC 8259), so other charsets count only if the bytes aren't UTF-8: UTF-16 with
 * a byte order mark, or the charset of `content-type`. Returns undefined for other bytes.
 */
function decoded({ body, headers }: HttpResponse): string | undefined {
  const [, labelled] = /;\s*charset="?([\w:-]{1,40})/i.exec(headers['content-type'] ?? '') ?? [];
  const marked = body[0] === 0xff && body[1] === 0xfe ? 'utf-16le' : body[0] === 0xfe && body[1] === 0xff ? 'utf-16be' : undefined;
  for (const charset of ['utf-8', marked, labelled]) {
    if (charset === undefined) continue;
    try {
      return new TextDecoder(charset, { fatal: true }).decode(body);
    } catch {
      // The bytes don't fit, or the charset is unknown.
    }
  }
  return undefined;
}

/** Returns the type of a JSON value in words, for messages that must not quote the value. */
export function jsonKind(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'string') return value === '' ? 'empty text' : 'text';
  if (typeof value === 'number') return 'a number';
  if (typeof value === 'boolean') return String(value);
  return Array.isArray(value) ? 'a list' : 'an object';
}
