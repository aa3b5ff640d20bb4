import { invalidOption } from './operator-error.ts';

/** The memory of {@link BoundaryDuplicates}, as JSON can hold it. */
export interface BoundaryState {
  /** The last IDs that passed, at most `maxOverlap` of them. */
  readonly tail: readonly string[];
}

/** Options of {@link boundaryDuplicates}. */
export interface BoundaryDuplicatesOptions {
  /** The state that an earlier run of the same crawl left. Default: none, the crawl begins. */
  readonly state?: BoundaryState | undefined;
  /** How many IDs may come again, and how many are remembered. Default: 200. */
  readonly maxOverlap?: number;
}

/** Drops, page after page of ONE crawl, the IDs that the page before has already brought. */
export interface BoundaryDuplicates {
  /** Returns the page without them, or the page itself if it has none. A page that loses all its IDs remains, empty. */
  apply<P extends { readonly ids: readonly string[] }>(page: P): P;
  /** Gives the state after the pages so far: store it with the checkpoint. */
  state(): BoundaryState;
}

/**
 * Makes the memory of one crawl's page boundaries.
 *
 * New followers shift a list during a crawl: the last IDs of one page return as the first of the next. If a sequence at the start of a page
 * equals a sequence at the end of the earlier IDs, it is dropped, the longest one if there are several. Other repetitions stay, and empty
 * pages in between change nothing. Never drops more than `maxOverlap` IDs: such a page stays unchanged.
 *
 * @throws {@link OperatorError} when `maxOverlap` is not a whole number of at least 1.
 */
export function boundaryDuplicates({ state, maxOverlap = 200 }: BoundaryDuplicatesOptions = {}): BoundaryDuplicates {
  if (!Number.isSafeInteger(maxOverlap) || maxOverlap < 1) {
    throw invalidOption('boundaryDuplicates', 'maxOverlap', `must be a whole number of at least 1, not ${maxOverlap}`);
  }
  let tail: readonly string[] = state?.tail.slice(-maxOverlap) ?? [];
  return {
    apply(page) {
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
    // One ID first: IDs rarely repeat, so it rules out nearly every start without a copy of the tail.
    if (tail[start] === ids[0] && tail.slice(start).every((id, index) => id === ids[index])) {
      return tail.length - start;
    }
  }
  return 0;
}
