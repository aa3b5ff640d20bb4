import { type Delivery, type Json, PageStream } from '@headgate/throttle';
import { optionChecks } from './checked-options.ts';
import type { Checkpoint, NextPage, Paging, WalkedPage, WalkOptions } from './paging.ts';
import { seenCursors } from './seen-cursors.ts';
import { SourceError, type SourceErrorCode } from './source-error.ts';
import type { QueryOptions } from './source.ts';

/** Functions that call the functions of a paging, and create errors that name the paging and its source. */
export interface PagingCalls {
  /** Calls `query` or `next`. */
  readonly call: <Result>(name: string, call: () => Result) => Result;
  /** Creates the error for a wrong result. `name`: the function; `what`: its error, such as `returns null`; `why`: the rule. */
  readonly misuse: (name: string, what: string, why: string) => Error;
}

/** Options of {@link walkPages}. */
export interface WalkPagesOptions<Query, Page, Cursor extends NonNullable<Json>> extends WalkOptions<Cursor>, PagingCalls {
  /** Defines how the walk gets from page to page. */
  readonly paging: Paging<Query, Page, Cursor>;
  /** Requests a page. */
  readonly query: (query: Query, options: QueryOptions) => Promise<Delivery<Page>>;
  /** Name of the service, for the walk's errors. */
  readonly service: string;
  /** Returns the user, author or key whose pages are walked, for errors. */
  readonly subject: () => string;
}

/** Default number of empty pages in a row that ends a walk. A service with more of them probably never returns a last page. */
export const MAX_EMPTY_PAGES = 100;

/**
 * Creates a walk from page to page. A page is empty if its credit covers no items. Each page comes with the checkpoint after it. A walk
 * that can't continue ends with an error before its next request.
 */
export function walkPages<Query, Page, Cursor extends NonNullable<Json>>(
  options: WalkPagesOptions<Query, Page, Cursor>,
): PageStream<WalkedPage<Page, Cursor>> {
  const { paging, query, from, signal, call, service } = options;
  const { maxEmptyPages = MAX_EMPTY_PAGES, maxPages = Infinity } = paging;
  const check = optionChecks(service);
  check.whole({ maxEmptyPages, maxPages }, 1, Infinity);
  const { pages: before = 0, empty: emptyBefore = 0 } = Object(from) as Partial<Checkpoint<Cursor>>;
  check.whole({ 'from.pages': before, 'from.empty': emptyBefore }, 0);
  return new PageStream(
    (reading) => {
      const walk = {};
      const seen = seenCursors(from === 'last' ? '' : from?.seen);
      const placeOf = (cursor: Cursor): string =>
        JSON.stringify(paging.place === undefined ? cursor : call('place', () => paging.place?.(cursor)));
      let at: Checkpoint<Cursor> | 'last' | undefined;
      const begin = (): Checkpoint<Cursor> | 'last' => {
        const start = from ?? { cursor: checked(options, 'first', paging.first) };
        if (start !== 'last') seen.add(placeOf(start.cursor));
        return start;
      };
      return {
        async read() {
          at ??= begin();
          if (at === 'last') return undefined;
          assertGoesOn(options, at);
          const { cursor, pages = 0, empty = 0 } = at;
          const one = call('query', () => paging.query(cursor));
          const { value: page, credit } = await query(one, { walk, ...reading });
          try {
            const given = call('next', () => paging.next(page, cursor));
            at = given === 'last' ? given : after(given, credit.items === 0 ? empty + 1 : 0, pages + 1);
          } catch (error) {
            credit.release();
            throw error;
          }
          return [{ value: { page, number: pages + 1, cursor, next: at }, credit }];
        },
      };

      function after(given: NextPage<Cursor>, empty: number, pages: number): Checkpoint<Cursor> {
        const { cursor: next, isUnknown } = Object(given) as NextPage<Cursor>;
        const cursor = checked(options, 'next', next);
        const isCircle = seen.add(placeOf(cursor)) || isUnknown === true;
        const state = { cursor, pages, seen: seen.snapshot() };
        return { ...state, ...(empty > 0 && { empty }), ...(isCircle && { isCircle }), ...(isUnknown === true && { isUnknown }) };
      }
    },
    { signal },
  );
}

/** Returns the same walk with each page replaced by `valueOf(page)`. */
export function mapPages<A, B>(pages: PageStream<A>, valueOf: (page: A) => B): PageStream<B> {
  return new PageStream((reading) => {
    const reader = pages.reader(reading);
    return {
      async read() {
        return (await reader.read())?.map(({ value, credit }) => ({ value: valueOf(value), credit }));
      },
    };
  });
}

/** Throws if the walk must end: after a loop of cursors, an unknown next page, too many empty pages, or the maximum number of pages. */
function assertGoesOn<Query, Page, Cursor extends NonNullable<Json>>(
  { paging, service, subject }: WalkPagesOptions<Query, Page, Cursor>,
  { pages = 0, empty = 0, isCircle, isUnknown }: Checkpoint<Cursor>,
): void {
  const { maxEmptyPages, maxPages = Infinity } = paging;
  const end = (code: SourceErrorCode, what: string): SourceError =>
    new SourceError({ code, retryable: true, service, subject: subject(), message: `${subject()}: ${what}` });
  // The messages don't quote the cursor, because a page's address may contain a key.
  if (isUnknown === true) {
    const what = `page ${pages} arrived, but names no valid next page and isn't marked as the last one, so the list may be incomplete.`;
    throw end('HEADGATE_UNFIT_ANSWER', `${what} The service may have an error: start the crawl again later.`);
  }
  if (isCircle === true) {
    const what = `page ${pages} names an earlier page of this walk, or itself, as the next one. If that is how the list ends, define it as the end.`;
    throw end('HEADGATE_CURSOR_LOOP', `${what} Otherwise the service's pages form a loop: start the crawl again later.`);
  }
  if (empty >= (maxEmptyPages ?? MAX_EMPTY_PAGES)) {
    const what = `page ${pages} was empty, like the ${empty - 1} pages before it, and returned a new cursor.`;
    // A paging that leaves the maximum to the default may have no setting for it, as in a section with `use: rest`.
    const more = maxEmptyPages === undefined ? '' : ', or allow more empty pages (maxEmptyPages)';
    throw end('HEADGATE_EMPTY_PAGES', `${what} To continue, resume after it${more}.`);
  }
  if (pages >= maxPages) {
    const what = `${pages} pages arrived, and the last one has a next page.`;
    throw end('HEADGATE_PAGE_LIMIT', `${what} To continue, resume after it, or allow more pages (maxPages).`);
  }
}

/** Returns the cursor. Throws if a checkpoint can't hold it. A service can leave out its cursor, whatever its type says. */
function checked<Cursor>({ misuse }: PagingCalls, name: string, cursor: Cursor): Cursor {
  if (typeof cursor === 'number' ? Number.isFinite(cursor) : (cursor ?? undefined) !== undefined) return cursor;
  throw misuse(
    name,
    `returns the cursor ${String(cursor)}`,
    "It must return 'last' or { cursor }, and a cursor must be JSON, but not null",
  );
}
