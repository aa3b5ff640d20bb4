import { type Transform, transform } from '@headgate/throttle';
import { assertIds, optionChecks } from './operator-error.ts';

/** The state of {@link BoundaryDuplicates}, as JSON. */
export interface BoundaryState {
  /** The last IDs that weren't dropped, at most `maxOverlap` of them. */
  readonly tail: readonly string[];
}

/** Options of {@link boundaryDuplicates}. */
export interface BoundaryDuplicatesOptions {
  /** State from an earlier run of the same crawl. Default: none, for a new crawl. */
  readonly state?: BoundaryState | undefined;
  /** Maximum number of IDs that are dropped from a page, and that are remembered. Default: 200. */
  readonly maxOverlap?: number;
}

/**
 * Drops the IDs at the start of a page that repeat the end of the previous pages. Use one object per crawl, and pass it all pages in order.
 */
export interface BoundaryDuplicates {
  /** Returns the page without the repeated IDs at its start. Returns the same object if there are none. A page can lose all its IDs. */
  apply<P extends { readonly ids: readonly string[] }>(page: P): P;
  /** Returns the state after the pages so far. Store it with the checkpoint. */
  state(): BoundaryState;
}

/**
 * Creates the memory of one crawl's page boundaries.
 *
 * New followers shift a list during a crawl: the last IDs of one page return as the first of the next. If a sequence at the start of a page
 * equals a sequence at the end of the earlier IDs, it is dropped; if several do, the longest one. Other repetitions stay, and empty pages
 * in between change nothing.
 *
 * @throws {@link OperatorError} when `maxOverlap` isn't a whole number of at least 1, or an ID of a page or of `state` isn't text.
 */
export function boundaryDuplicates({ state, maxOverlap = 200 }: BoundaryDuplicatesOptions = {}): BoundaryDuplicates {
  optionChecks('boundaryDuplicates').whole({ maxOverlap }, 1);
  if (state !== undefined) assertIds(state.tail);
  let tail: readonly string[] = state?.tail.slice(-maxOverlap) ?? [];
  return {
    apply(page) {
      assertIds(page.ids);
      const overlap = longestOverlap(tail, page.ids);
      const fresh = overlap === 0 ? page.ids : page.ids.slice(overlap);
      tail = fresh.length >= maxOverlap ? fresh.slice(-maxOverlap) : [...tail, ...fresh].slice(-maxOverlap);
      return overlap === 0 ? page : { ...page, ids: fresh };
    },
    state: () => ({ tail }),
  };
}

function longestOverlap(tail: readonly string[], ids: readonly string[]): number {
  for (let start = Math.max(0, tail.length - ids.length); start < tail.length; start += 1) {
    // Compare one ID first. IDs rarely repeat, so this rules out nearly every start without copying the tail.
    if (tail[start] === ids[0] && tail.slice(start).every((id, index) => id === ids[index])) {
      return tail.length - start;
    }
  }
  return 0;
}

/** Options of {@link dropBoundaryDuplicates}. */
export type DropBoundaryDuplicatesOptions = Pick<BoundaryDuplicatesOptions, 'maxOverlap'>;

/**
 * Drops the IDs that a page repeats from the end of the previous pages; see {@link boundaryDuplicates}. It remembers the last IDs of one
 * crawl, so use one subscription per crawl.
 *
 * *Emits when* a page arrives: that page without its repeated IDs. *Backpressures when* never. *Completes when* the pages complete.
 * *Cancels when* downstream cancels. Fails with {@link OperatorError} if a page has an ID that isn't text.
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
      return { next: (page) => [memory.apply(page)], state: () => ({ ...memory.state() }) };
    },
  });
}
