import type { Answer } from '../http/answer.ts';
import { jsonAnswer } from '../http/answer.ts';
import { recordedAnswer, recordedTarget } from './recorded-target.ts';
import type { RecordedEntry } from './recording.ts';

export interface RecordedBooksQuery {
  readonly method: string;
  /** Path as received, percent-encoded. */
  readonly path: string;
  readonly body: string;
}

/**
 * Creates a function that responds from the recorded exchanges of the catalog. Returns undefined if the recording has none.
 *
 * It matches by method and path, without queries. It prefers the same path with the same body, then the same path, then a template such as
 * `/book/{isbn}`. Among equals, it prefers status 200, then the order of the file. It ignores entries without an address. The response to any other
 * request is a 404 with `x-sandbox-replay: not-recorded`.
 */
export function createBooksReplay(recording: readonly RecordedEntry[]): ((query: RecordedBooksQuery) => Answer) | undefined {
  const entries = recording
    .flatMap((entry) => {
      const path = recordedTarget(entry)?.path;
      return path !== undefined && /^\/(?:book|author)\/|^\/books$/u.test(path) ? [{ entry, path }] : [];
    })
    .toSorted((left, right) => Number(right.entry.response.status === 200) - Number(left.entry.response.status === 200));
  if (entries.length === 0) return undefined;

  return ({ method, path, body }) => {
    const sameMethod = entries.filter(({ entry }) => entry.request.method.toUpperCase() === method);
    const samePath = sameMethod.filter((each) => decoded(each.path) === decoded(path));
    const found =
      samePath.find(({ entry }) => (entry.request.body ?? '') === body) ??
      samePath[0] ??
      sameMethod.find((each) => each.path.includes('{') && templatePattern(each.path).test(path));
    if (found !== undefined) return recordedAnswer(found.entry);
    return jsonAnswer(404, '{"errorMessage":"Not Found"}', { 'x-sandbox-replay': 'not-recorded' });
  };
}

function templatePattern(template: string): RegExp {
  const parts = template.split(/\{[^}]*\}/u).map((part) => part.replaceAll(/[.*+?^$()|[\]\\]/gu, String.raw`\$&`));
  return new RegExp(`^${parts.join('[^/]+')}$`, 'u');
}

/** Decodes a path segment by segment, so that an encoded slash differs from a real one. */
function decoded(path: string): string {
  try {
    return JSON.stringify(path.split('/').map((segment) => decodeURIComponent(segment)));
  } catch {
    return path;
  }
}
