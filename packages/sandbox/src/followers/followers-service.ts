import type { Answer } from '../http/answer.ts';
import type { Authenticate } from './follower-credentials.ts';
import type { UserDirectory } from './follower-users.ts';
import {
  type ErrorFormat,
  followersError,
  followersPath,
  inFormat,
  limitAnswer,
  pageOf,
  protectedAnswer,
  withNextCursor,
  withoutNextCursor,
} from './followers-answers.ts';
import type { Exchange, Served } from '../http/loopback-server.ts';
import { createRequestWindow } from '../http/window.ts';
import type { RequestWindow, WindowOptions, WindowVerdict } from '../http/window.ts';

export interface FollowersServiceOptions {
  readonly directory: UserDirectory;
  readonly authenticate: Authenticate;
  readonly window: WindowOptions;
  readonly idFormat: 'asked' | 'strings' | 'numbers';
  readonly cursorStrings: boolean;
  readonly errorFormat: ErrorFormat;
}

/**
 * Creates a function that responds as the followers service does. It checks the path, then the credential, then the credential's window,
 * and then the rest of the request.
 */
export function createFollowersService(options: FollowersServiceOptions): (exchange: Exchange) => Served {
  const { authenticate, window, errorFormat } = options;
  createRequestWindow(window);
  const windows = new Map<string, RequestWindow>();
  const loopTargets = new Map<string, string>();

  const windowOf = (credential: string): RequestWindow => {
    const found = windows.get(credential) ?? createRequestWindow(window);
    windows.set(credential, found);
    return found;
  };

  return (exchange) => {
    const { answer, ...served } = serve(exchange);
    return { ...served, answer: inFormat(answer, errorFormat) };
  };

  function serve(exchange: Exchange): Served {
    const { query, fault, nowMs, serverNowMs } = exchange;
    const user = query.get('screen_name') ?? query.get('user_id') ?? undefined;
    const cursor = query.get('cursor') ?? '-1';
    const seen = { cursor, ...(user === undefined ? {} : { user }) };
    if (exchange.path !== followersPath || exchange.method !== 'GET') {
      return { answer: followersError(404, 34, 'Sorry, that page does not exist.'), refused: true, seen: {} };
    }
    const contentType = exchange.headers['content-type'];
    const who = authenticate(
      {
        method: exchange.method,
        url: exchange.url,
        authorization: exchange.headers.authorization,
        body: exchange.body,
        ...(contentType === undefined ? {} : { contentType }),
      },
      serverNowMs,
    );
    const named = { ...seen, ...(who.name === undefined ? {} : { credential: who.name }) };
    if ('errorCode' in who) return { answer: followersError(who.status, who.errorCode, who.message), refused: true, seen: named };

    const verdict = windowOf(who.name).take(nowMs);
    // The reset in the headers is by the service's own clock, like the `date` header.
    const headers = rateHeaders(verdict, serverNowMs - nowMs);
    if (!verdict.allowed) {
      return { answer: limitAnswer(headers), refused: true, seen: named };
    }
    const answered = (answer: Answer): Served => ({ answer: withHeaders(answer, headers), refused: false, seen: named });
    if (fault?.name === '429') {
      const refusal = limitAnswer({ ...headers, 'x-rate-limit-remaining': '0', ...waitHeaders(fault.retryAfterMs, serverNowMs) });
      return { answer: refusal, refused: false, seen: named };
    }
    if (fault?.name === '503') return answered(followersError(fault.status ?? 503, 130, 'Over capacity'));
    const page = answerPage(options, query, { cursor, credential: who.name });
    // The fault `cursor-loop` leads back to the oldest cursor that the walk has used after -1, or to -1 on the first page.
    const walk = user?.toLowerCase() ?? '';
    if (cursor === '-1') loopTargets.delete(walk);
    else if (!loopTargets.has(walk)) loopTargets.set(walk, cursor);
    if (fault?.name === 'no-cursor') return answered(withoutNextCursor(page));
    return answered(fault?.name === 'cursor-loop' ? withNextCursor(page, loopTargets.get(walk) ?? '-1') : page);
  }
}

function answerPage(
  options: FollowersServiceOptions,
  query: URLSearchParams,
  { cursor, credential }: { readonly cursor: string; readonly credential: string },
): Answer {
  const { directory, idFormat, cursorStrings } = options;
  const screenName = query.get('screen_name') ?? undefined;
  const userId = query.get('user_id') ?? undefined;
  if ((screenName === undefined) === (userId === undefined)) {
    return followersError(400, 25, 'Query parameters are missing or conflict: give either user_id or screen_name.');
  }
  const count = query.get('count') ?? '5000';
  if (!/^[1-9]\d*$/u.test(count)) return followersError(400, 44, 'count parameter is invalid.');
  if (!/^-?\d+$/u.test(cursor)) return followersError(400, 44, 'cursor parameter is invalid.');

  const served = screenName === undefined ? directory.byId(userId ?? '') : directory.byName(screenName);
  if (served === undefined) return followersError(404, 34, 'Sorry, that page does not exist.');
  const { protected: hidden = false } = served.user;
  if (hidden === true || (hidden !== false && !hidden.includes(credential))) return protectedAnswer();
  switch (served.user.error) {
    case 17:
      return followersError(404, 17, 'No user matches for specified terms.');
    case 34:
      return followersError(404, 34, 'Sorry, that page does not exist.');
    case 50:
      return followersError(404, 50, 'User not found.');
    case 63:
      return followersError(403, 63, 'User has been suspended.');
    case undefined:
  }
  const wantsStrings = /^(?:true|t|1)$/iu.test(query.get('stringify_ids') ?? '');
  const page = pageOf({
    list: served.list,
    cursors: served.cursors,
    cursor,
    size: Math.min(Number(count), served.pageSize),
    idsAsStrings: idFormat === 'asked' ? wantsStrings : idFormat === 'strings',
    cursorStrings,
  });
  if (page === undefined) return followersError(400, 44, 'cursor parameter is invalid.');
  served.list.pageServed();
  return page;
}

function rateHeaders({ limit, remaining, resetMs }: WindowVerdict, skewMs: number): Record<string, string> {
  return {
    'x-rate-limit-limit': String(limit),
    'x-rate-limit-remaining': String(remaining),
    'x-rate-limit-reset': String(Math.floor((resetMs + skewMs) / 1000)),
  };
}

/** Both ways to tell a wait end at the same time, because clients differ in which one they read. */
function waitHeaders(waitMs: number | undefined, serverNowMs: number): Record<string, string> {
  if (waitMs === undefined) return {};
  const seconds = Math.ceil(waitMs / 1000);
  return { 'retry-after': String(seconds), 'x-rate-limit-reset': String(Math.floor(serverNowMs / 1000) + seconds) };
}

function withHeaders(answer: Answer, headers: Readonly<Record<string, string>>): Answer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}
