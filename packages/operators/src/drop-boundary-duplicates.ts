import { type Transform, transform } from '@headgate/throttle';
import { type BoundaryDuplicatesOptions, type BoundaryState, boundaryDuplicates } from './boundary-duplicates.ts';

/** Options of {@link dropBoundaryDuplicates}. */
export type DropBoundaryDuplicatesOptions = Pick<BoundaryDuplicatesOptions, 'maxOverlap'>;

/**
 * Drops the ids that a page repeats from the end of the page before it; see {@link boundaryDuplicates}. It remembers the last ids of one
 * crawl: a subscription of its own for each.
 *
 * *Emits when* a page arrives: that page, without the ids that came already.
 * *Backpressures when* never by itself: in `through` a page's credit comes back with what became of it; behind `.pipe` nothing holds the
 * pages back.
 * *Completes when* the pages complete.
 * *Cancels when* downstream cancels.
 *
 * @throws {@link InvalidOptionError} when `maxOverlap` is not a whole number of at least 1.
 */
export function dropBoundaryDuplicates<P extends { readonly ids: readonly string[] }>(
  options: DropBoundaryDuplicatesOptions = {},
): Transform<P> {
  // Options that can't be are refused here, not when a crawl begins.
  boundaryDuplicates(options);
  return transform<P>({
    name: 'dropBoundaryDuplicates',
    open(state) {
      const memory = boundaryDuplicates({ ...options, state: state as BoundaryState | undefined });
      return {
        next: (page) => [memory.apply(page)],
        state: () => ({ ...memory.state() }),
      };
    },
  });
}
