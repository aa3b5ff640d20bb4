import type { BookAnswer, Books } from '@headgate/sources/books';
import type { FollowerPage, Followers } from '@headgate/sources/followers';
import { creditPool } from '@headgate/throttle';
import { lastValueFrom, merge } from 'rxjs';

export interface OneCapOptions {
  readonly followers: Followers;
  readonly books: Books;
  readonly screenName: string;
  readonly isbns: Iterable<string>;
  /** Maximum IDs and books together that are requested and not yet written. */
  readonly maxItems: number;
  readonly write: (item: FollowerPage | BookAnswer) => Promise<void>;
}

/** Writes a user's followers and books from two services into one sink at the same time. Both share its capacity. */
export async function oneCap({ followers, books, screenName, isbns, maxItems, write }: OneCapOptions): Promise<void> {
  const credits = creditPool({ max: maxItems });
  const pages = followers.pages({ screenName }).drain(write, { credits });
  const answers = books.lookup(isbns).drain(write, { credits });
  // If one of the two fails, `merge` ends the other one.
  await lastValueFrom(merge(pages, answers), { defaultValue: undefined });
}
