import { SourceError } from '../source-error.ts';
import type { FollowerPage } from './follower-page.ts';
import type { FollowersAsk } from './followers-ask.ts';

/** The cursor that means: there is nothing more. */
const END = '0';

/**
 * Makes the function that finds the next ask of one walk; undefined after its last page.
 *
 * It remembers every cursor it has seen and throws a `SourceError` with `HEADGATE_CURSOR_LOOP` for one that comes again: the service
 * would lead the walk in a circle. Ten million followers are 2,000 cursors. After `maxEmptyPages` empty pages in a row it throws one with
 * `HEADGATE_EMPTY_PAGES`: ever new cursors would lead the walk nowhere, for ever.
 */
export function nextAsk(first: FollowersAsk): (page: FollowerPage, ask: FollowersAsk) => FollowersAsk | undefined {
  const seen = new Set([first.cursor]);
  return (page, ask) => {
    const cursor = ask.direction === 'next' ? page.nextCursor : page.previousCursor;
    if (cursor === END) return undefined;
    if (seen.has(cursor)) throw loopError(page, cursor);
    seen.add(cursor);
    const emptyBefore = page.ids.length === 0 ? ask.emptyBefore + 1 : 0;
    if (emptyBefore >= ask.maxEmptyPages) throw emptyPagesError(page, { cursor, inARow: emptyBefore });
    return { ...ask, cursor, page: ask.page + 1, emptyBefore };
  };
}

function loopError({ user, page, credential }: FollowerPage, cursor: string): SourceError {
  const message = `${user}: page ${page} points back to the cursor ${cursor}, which was used before in this walk. The service leads in a circle: start the walk again later.`;
  return new SourceError({ code: 'HEADGATE_CURSOR_LOOP', retryable: true, service: 'followers', credential, subject: user, message });
}

function emptyPagesError(
  { user, page, credential }: FollowerPage,
  { cursor, inARow }: { readonly cursor: string; readonly inARow: number },
): SourceError {
  const message =
    `${user}: page ${page} was the last of ${inARow} empty ones in a row, each of which gave a new cursor. ` +
    `To walk on, begin at the cursor ${cursor}, or allow more empty pages (maxEmptyPages).`;
  return new SourceError({ code: 'HEADGATE_EMPTY_PAGES', retryable: true, service: 'followers', credential, subject: user, message });
}
