import { type Transform, transform } from '@headgate/throttle';
import { assertIds } from './operator-error.ts';

/** A page of IDs. */
export interface IdPage {
  /** User that the IDs belong to. */
  readonly user: string;
  /** ID of the crawl that the page belongs to. Default: none. */
  readonly crawl?: string;
  /** Number of the page in its crawl. */
  readonly page: number;
  /** The page's IDs, in the service's order. */
  readonly ids: readonly string[];
}

/** One ID of a page, with its crawl if the page has one. */
export type PageId<P extends IdPage = IdPage> = Pick<P, 'user' | 'page' | Extract<'crawl', keyof P>> & { readonly id: string };

/**
 * Returns one record for each ID of a page, in order.
 *
 * @throws {@link OperatorError} when an ID isn't text.
 */
export function idsOf<P extends IdPage>({ user, crawl, page, ids }: P): PageId<P>[] {
  assertIds(ids);
  const place = crawl === undefined ? { user, page } : { user, crawl, page };
  return ids.map((id) => ({ ...place, id }) as PageId<P>);
}

/**
 * Turns each page into one record per ID, in order. A page without IDs becomes no record.
 *
 * *Emits when* a page arrives: a record for each of its IDs. *Backpressures when* never. *Completes when* the pages complete. *Cancels
 * when* downstream cancels, even in the middle of a page. Fails with {@link OperatorError} if a page has an ID that isn't text.
 */
export function flattenIds<P extends IdPage>(): Transform<P, PageId<P>> {
  return transform<P, PageId<P>>({ name: 'flattenIds', open: () => ({ next: idsOf }) });
}
