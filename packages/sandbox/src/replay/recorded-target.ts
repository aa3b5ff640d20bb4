import type { Answer } from '../http/answer.ts';
import type { RecordedEntry } from './recording.ts';

/** The path and query a recorded request was for; undefined where its address is null or neither absolute nor a path. */
export function recordedTarget({
  request: { url },
}: RecordedEntry): { readonly path: string; readonly query: URLSearchParams } | undefined {
  // By hand: URL would encode the braces of a template and resolve what is to be compared as it stands.
  const [, path, query] = /^(?:https?:\/\/[^/?#]*)?(\/[^?#]*)(?:\?([^#]*))?/iu.exec(url ?? '') ?? [];
  return path === undefined ? undefined : { path, query: new URLSearchParams(query ?? '') };
}

/** The recorded answer as it is sent again. */
export function recordedAnswer({ response }: RecordedEntry): Answer {
  return {
    status: response.status,
    headers: { 'content-type': response.headers['content-type'] ?? 'application/json' },
    body: response.body,
  };
}
