import { concatMap, type OperatorFunction } from 'rxjs';

/** A page of ids, as far as it matters here; other fields are left behind. */
export interface IdPage {
  /** Whose page it is. */
  readonly user: string;
  /** The crawl it belongs to. */
  readonly crawl: string;
  /** Its number in the crawl. */
  readonly page: number;
  /** Its ids, in the service's order. */
  readonly ids: readonly string[];
}

/** One id of a page. */
export interface PageId {
  readonly user: string;
  readonly crawl: string;
  readonly page: number;
  readonly id: string;
}

/** Gives one record for each id of a page, in order. */
export function idsOf({ user, crawl, page, ids }: IdPage): PageId[] {
  return ids.map((id) => ({ user, crawl, page, id }));
}

/**
 * Turns pages into one record for each of their ids, in order; an empty page gives none.
 *
 * *Emits when* a page arrives: all its ids, before the page's `next` returns.
 * *Backpressures when* never by itself: what follows sets the pace of the pages.
 * *Completes when* the pages complete.
 * *Cancels when* downstream cancels, in the middle of a page too.
 */
export function flattenIds(): OperatorFunction<IdPage, PageId> {
  return concatMap(idsOf);
}
