import { type Transform, transform } from '@headgate/throttle';

/** A page of IDs. Only these fields matter; others are dropped. */
export interface IdPage {
  /** Whose page it is. */
  readonly user: string;
  /** The crawl it belongs to, if the page names one. */
  readonly crawl?: string;
  /** Its number in the crawl. */
  readonly page: number;
  /** Its IDs, in the service's order. */
  readonly ids: readonly string[];
}

/** One ID of a page, with its crawl if the page has one. */
export type PageId<P extends IdPage = IdPage> = Pick<P, 'user' | 'page' | Extract<'crawl', keyof P>> & { readonly id: string };

/** Gives one record for each ID of a page, in order. */
export function idsOf<P extends IdPage>({ user, crawl, page, ids }: P): PageId<P>[] {
  const place = crawl === undefined ? { user, page } : { user, crawl, page };
  return ids.map((id) => ({ ...place, id }) as PageId<P>);
}

/**
 * Turns each page into one record per ID, in order; an empty page gives none.
 *
 * *Emits when* a page arrives: all its IDs, before the page's `next` returns. *Backpressures when* never: in `through` a page returns its
 * credit with the last of its IDs; after `.pipe` nothing limits the pages. *Completes when* the pages complete. *Cancels when* downstream
 * cancels, in the middle of a page too.
 */
export function flattenIds<P extends IdPage>(): Transform<P, PageId<P>> {
  return transform<P, PageId<P>>({ name: 'flattenIds', open: () => ({ next: idsOf }) });
}
