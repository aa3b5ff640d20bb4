import { type Transform, transform } from '@headgate/throttle';
import { type BoundaryDuplicatesOptions, type BoundaryState, boundaryDuplicates } from './boundary-duplicates.ts';

/** Options of {@link dropBoundaryDuplicates}. */
export type DropBoundaryDuplicatesOptions = Pick<BoundaryDuplicatesOptions, 'maxOverlap'>;

/**
 * Drops the IDs that a page repeats from the end of the previous pages; see {@link boundaryDuplicates}. It remembers the last IDs of one
 * crawl, so use one subscription per crawl.
 *
 * *Emits when* a page arrives: that page without its repeated IDs. *Backpressures when* never. *Completes when* the pages complete.
 * *Cancels when* downstream cancels. Fails with {@link OperatorError} if a page's IDs aren't an array of text.
 *
 * @throws {@link OperatorError} when `maxOverlap` isn't a whole number of at least 1.
 */
export function dropBoundaryDuplicates<P extends { readonly ids: readonly string[] }>(
  options: DropBoundaryDuplicatesOptions = {},
): Transform<P> {
  // This call throws for invalid options now, instead of when a crawl starts.
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
