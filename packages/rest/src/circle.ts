/** Digests of pages of a listing, by which it notices that pages come again. */
export type Circle = {
  /** Number of pages so far that have records. */
  readonly pages: number;
  readonly first: string;
  /** The newest page whose number is a power of two, so that a circle of any length meets it (Brent's algorithm). */
  readonly mark: string;
  readonly last: readonly string[];
  /** Number of pages in a row whose keys had come before, with other content. */
  readonly stale: number;
};

/** The identity of a page's records. */
export interface PageIdentity {
  /** Digest of the keys. Undefined if they can't identify the page, because it has fewer than two or some of them are equal. */
  readonly keys: string | undefined;
  /** Digest of the records. */
  readonly content: string;
}

const LENGTH = 8;
const LAST_PAGES = 8;
/** Maximum number of pages in a row that have only keys of an earlier page, with other content, such as a counter of views. */
const MAX_STALE = 10;

export interface Shown {
  readonly circle: Circle | undefined;
  /** Set if the page shows that the listing goes in a circle: `same` if its records came before, `stale` if only their keys did. */
  readonly shows?: 'same' | 'stale';
}

/** The pages so far after one more page, and what that page shows. */
export function circleAfter(before: Circle | undefined, { keys = '', content }: PageIdentity): Shown {
  const digest = content + keys;
  const known = before === undefined ? [] : [before.first, before.mark, ...before.last];
  const isStale = keys !== '' && known.some((one) => one.slice(LENGTH) === keys);
  const stale = isStale ? (before?.stale ?? 0) + 1 : 0;
  const pages = (before?.pages ?? 0) + 1;
  const circle = {
    pages,
    first: before?.first ?? digest,
    mark: before === undefined || Number.isInteger(Math.log2(pages)) ? digest : before.mark,
    last: [...(before?.last ?? []), digest].slice(-LAST_PAGES),
    stale,
  };
  if (known.some((one) => one.slice(0, LENGTH) === content)) return { circle, shows: 'same' };
  return stale >= MAX_STALE ? { circle, shows: 'stale' } : { circle };
}
