import { map, type Observable } from 'rxjs';
import { boundaryDuplicates, type BoundaryDuplicatesOptions, type BoundaryState } from './boundary-duplicates.ts';

/** An operator that can say what it remembers. */
export interface DropBoundaryDuplicates {
  <P extends { readonly ids: readonly string[] }>(pages: Observable<P>): Observable<P>;
  /** Gives what is remembered after the pages so far: store it with the checkpoint. */
  state(): BoundaryState;
}

/**
 * Drops the ids that a page repeats from the end of the page before it; see {@link boundaryDuplicates}.
 *
 * Made once per crawl: whoever subscribes again goes on with what it remembers.
 *
 * *Emits when* a page arrives: that page, without the ids that came already.
 * *Backpressures when* never by itself: what follows sets the pace of the pages.
 * *Completes when* the pages complete.
 * *Cancels when* downstream cancels.
 *
 * @throws {@link InvalidOptionError} when `maxOverlap` is not a whole number of at least 1.
 */
export function dropBoundaryDuplicates(options: BoundaryDuplicatesOptions = {}): DropBoundaryDuplicates {
  const memory = boundaryDuplicates(options);
  return Object.assign(
    <P extends { readonly ids: readonly string[] }>(pages: Observable<P>): Observable<P> => pages.pipe(map((page) => memory.apply(page))),
    { state: () => memory.state() },
  );
}
