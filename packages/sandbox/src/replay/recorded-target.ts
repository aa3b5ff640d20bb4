import type { Answer } from '../http/answer.ts';
import type { RecordedEntry } from './recording.ts';

/** Returns the path and query of a recorded request. Undefined if its address is null, or neither absolute nor a path. */
export function recordedTarget({
  request: { url },
}: RecordedEntry): { readonly path: string; readonly query: URLSearchParams } | undefined {
  // `URL` isn't used, because it would encode the braces of a template and resolve segments such as `..`.
  const [, path, query] = /^(?:https?:\/\/[^/?#]*)?(\/[^?#]*)(?:\?([^#]*))?/iu.exec(url ?? '') ?? [];
  return path === undefined ? undefined : { path, query: new URLSearchParams(query ?? '') };
}

/** Returns the recorded response, with `content-type` as its only header. */
export function recordedAnswer({ response }: RecordedEntry): Answer {
  return {
    status: response.status,
    headers: { 'content-type': response.headers['content-type'] ?? 'application/json' },
    body: response.body,
  };
}
