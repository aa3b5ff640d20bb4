import type { Answer } from '../http/answer.ts';
import { jsonAnswer } from '../http/answer.ts';
import { recordedAnswer, recordedTarget } from './recorded-target.ts';
import type { RecordedEntry } from './recording.ts';

export interface RecordedPageQuery {
  /** Cursor of the page; `-1` for the first one. */
  readonly cursor: string;
  readonly screenName?: string;
  readonly userId?: string;
}

interface RecordedPage {
  readonly entry: RecordedEntry;
  readonly cursor: string;
  readonly screenName: string | undefined;
  readonly userId: string | undefined;
}

/**
 * Creates a function that responds from the recorded pages of one path. Returns undefined if the recording has none of that path.
 *
 * It matches a page by its cursor. Among several, it prefers the requested user's, then one with status 200, then one without a user, then
 * the first. If a recorded page leads to a cursor that wasn't recorded, the response for that cursor is an empty last page. The response
 * for any other cursor is a 404. Recorded bodies are sent unchanged, with `content-type` as their only recorded header.
 */
export function createFollowersReplay(
  recording: readonly RecordedEntry[],
  path: string,
): ((query: RecordedPageQuery) => Answer) | undefined {
  const pages = recording.flatMap((entry): RecordedPage[] => {
    const target = recordedTarget(entry);
    if (target?.path !== path || entry.request.method.toUpperCase() !== 'GET') return [];
    const { query } = target;
    return [
      {
        entry,
        cursor: query.get('cursor') ?? '-1',
        screenName: query.get('screen_name')?.toLowerCase(),
        userId: query.get('user_id') ?? undefined,
      },
    ];
  });
  if (pages.length === 0) return undefined;
  const nextCursors = new Set(pages.flatMap(({ entry }) => nextCursorOf(entry.response.body) ?? []));

  return ({ cursor, screenName, userId }) => {
    const wanted = screenName?.toLowerCase();
    const isOfUser = (page: RecordedPage): boolean =>
      (wanted !== undefined && page.screenName === wanted) || (userId !== undefined && page.userId === userId);
    const rank = (page: RecordedPage): number => {
      if (isOfUser(page)) return 0;
      const hasUser = page.screenName !== undefined || page.userId !== undefined;
      return 1 + (page.entry.response.status === 200 ? 0 : 2) + (hasUser ? 1 : 0);
    };
    // The sort is stable, so the order of the file decides between equals.
    const [best] = pages.filter((page) => page.cursor === cursor).toSorted((left, right) => rank(left) - rank(right));
    if (best !== undefined) return recordedAnswer(best.entry);
    if (!nextCursors.has(cursor)) {
      return jsonAnswer(404, '{"errors":[{"code":34,"message":"Sorry, that page does not exist: no such cursor in the recording."}]}', {
        'x-sandbox-replay': 'not-recorded',
      });
    }
    return jsonAnswer(200, '{"ids":[],"next_cursor":0,"next_cursor_str":"0","previous_cursor":0,"previous_cursor_str":"0"}', {
      'x-sandbox-replay': 'end-of-recording',
    });
  };
}

/** Reads the next cursor from a body's text, because `JSON.parse` would round a number. */
function nextCursorOf(body: string): string | undefined {
  return /"next_cursor_str"\s*:\s*"(-?\d+)"/u.exec(body)?.[1] ?? /"next_cursor"\s*:\s*"?(-?\d+)/u.exec(body)?.[1];
}
