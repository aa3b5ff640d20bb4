/** A page as one record, or each of its ids. */
export type Shape = 'pages' | 'ids';

export type Codec = 'none' | 'gzip' | 'zstd';

/** A client's job: walk the pages and write them. */
export interface Job {
  readonly shape: Shape;
  readonly codec: Codec;
  /** Of the page server. */
  readonly origin: string;
  readonly brokers: readonly string[];
  /** Where it writes. */
  readonly topic: string;
}

export const USER = '@alpha';
/** How Headgate calls the first crawl of a new log: the others write the same. */
export const CRAWL = 'followers.requests-0-0';
