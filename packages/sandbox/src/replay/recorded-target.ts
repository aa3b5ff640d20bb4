import type { Answer } from '../http/answer.ts';
import type { RecordedEntry } from './recording.ts';

/** The path and query of a recorded request; undefined if its address is null, or neither absolute nor a path. */
export function recordedTarget({
  request: { url },
}: RecordedEntry): { readonly path: string; readonly query: URLSearchParams } | undefined {
  // Parsed by hand, because URL would encode the braces of a template and resolve text that must be compared unchanged.
  const [, path, query] = /^(?:https?:\/\/[^/?#]*)?(\/[^?#]*)(?:\?([^#]*))?/iu.exec(url ?? '') ?? [];
  return path === undefined ? undefined : { path, query: new URLSearchParams(query ?? '') };
}

/** The recorded response, to send again. */
export function recordedAnswer({ response }: RecordedEntry): Answer {
  return {
    status: response.status,
    headers: { 'content-type': response.headers['content-type'] ?? 'application/json' },
    body: response.body,
  };
}
