import type { BookAnswer, Books } from '@headgate/sources/books';
import type { FollowerPage, Followers } from '@headgate/sources/followers';
import { creditPool } from '@headgate/throttle';
import { lastValueFrom, merge } from 'rxjs';

export interface OneCapOptions {
  readonly followers: Followers;
  readonly books: Books;
  readonly screenName: string;
  readonly isbns: Iterable<string>;
  /** Most ids and books together that are requested and not yet written. */
  readonly maxItems: number;
  readonly write: (item: FollowerPage | BookAnswer) => Promise<void>;
}

/** Brings a user's followers and books at once, from two services, into one sink whose room they share. */
export async function oneCap({ followers, books, screenName, isbns, maxItems, write }: OneCapOptions): Promise<void> {
  const credits = creditPool({ max: maxItems });
  const pages = followers.pages({ screenName }).drain(write, { credits });
  const answers = books.lookup(isbns).drain(write, { credits });
  // Where one fails, the other ends too.
  await lastValueFrom(merge(pages, answers), { defaultValue: undefined });
}
