import { STATUS_CODES } from 'node:http';

import type { Answer } from '../http/answer.ts';
import { jsonAnswer } from '../http/answer.ts';
import type { CursorCodec, CursorPlace } from './follower-cursor.ts';
import type { FollowerList } from './follower-list.ts';

export const followersPath = '/1.1/followers/ids.json';

/** The challenge that recorded responses with status 401 have (RFC 9110, section 11.6.1), with another realm. */
const CHALLENGE = { 'www-authenticate': 'OAuth realm="followers"' };

export function followersError(status: number, code: number, message: string): Answer {
  return jsonAnswer(status, JSON.stringify({ errors: [{ code, message }] }), status === 401 ? CHALLENGE : {});
}

/** Creates the refusal of a request over the limit, with its fields in the order of recorded responses. */
export function limitAnswer(headers: Readonly<Record<string, string>>): Answer {
  return jsonAnswer(429, '{"errors":[{"message":"Rate limit exceeded","code":88}]}', headers);
}

/** Creates the refusal for a protected account. Its format differs from that of all other errors, and its slashes are escaped. */
export function protectedAnswer(): Answer {
  return jsonAnswer(401, `{"request":"${followersPath.replaceAll('/', String.raw`\/`)}","error":"Not authorized."}`, CHALLENGE);
}

/** The format of errors, except for the 429: see `FollowersSandboxOptions.errorFormat`. */
export type ErrorFormat = 'errors' | 'problem' | 'text' | 'empty';

/** Returns an error in another format, which has no code. Any other answer stays the same. */
export function inFormat(answer: Answer, format: ErrorFormat): Answer {
  const { status, headers } = answer;
  if (status < 400 || status === 429 || format === 'errors') return answer;
  const title = STATUS_CODES[status] ?? '';
  if (format === 'problem') {
    const problem = JSON.stringify({ title, detail: title, type: 'about:blank', status });
    return { status, headers: { ...headers, 'content-type': 'application/problem+json' }, body: problem };
  }
  return { status, headers: { ...headers, 'content-type': 'text/plain' }, body: format === 'text' ? `${status} ${title}` : '' };
}

export interface PageSpelling {
  readonly idsAsStrings: boolean;
  /** Adds `next_cursor_str` and `previous_cursor_str`. */
  readonly cursorStrings: boolean;
}

/** Creates a page of a list: `size` positions from the cursor's position on, or before it. Undefined for an unknown cursor. */
export function pageOf(
  options: { readonly list: FollowerList; readonly cursors: CursorCodec; readonly cursor: string; readonly size: number } & PageSpelling,
): Answer | undefined {
  const { list, cursors, cursor, size, idsAsStrings, cursorStrings } = options;
  const place: CursorPlace | undefined = cursor === '-1' ? { position: 0, direction: 'next' } : cursors.decode(cursor);
  if (place === undefined) return undefined;
  const from = place.direction === 'next' ? place.position : Math.max(0, place.position - size);
  const to = place.direction === 'next' ? from + size : place.position;
  const next = to < list.length() ? cursors.encode({ position: to, direction: 'next' }) : '0';
  const previous = from > 0 ? cursors.encode({ position: from, direction: 'previous' }) : '0';
  // The JSON is concatenated as text, because IDs and cursors can exceed JavaScript's safe range.
  const ids = list.slice(from, to).map((id) => (idsAsStrings ? `"${id}"` : id));
  const fields = [`"ids":[${ids.join(',')}]`, ...cursorFields('next', next), ...cursorFields('previous', previous), '"total_count":null'];
  return jsonAnswer(200, `{${fields.join(',')}}`);

  function cursorFields(direction: string, value: string): string[] {
    return [`"${direction}_cursor":${value}`, ...(cursorStrings ? [`"${direction}_cursor_str":"${value}"`] : [])];
  }
}

/** Returns the page with another next cursor, in both of its fields. */
export function withNextCursor(answer: Answer, cursor: string): Answer {
  return { ...answer, body: answer.body.replaceAll(/("next_cursor(?:_str)?"\s*:\s*"?)-?\d+/gu, (_, field: string) => field + cursor) };
}

/** Returns the page without its next cursor, in both of its fields. */
export function withoutNextCursor(answer: Answer): Answer {
  return { ...answer, body: answer.body.replaceAll(/"next_cursor(?:_str)?"\s*:\s*"?-?\d+"?/gu, (field) => `${field.split(':')[0]}:null`) };
}
