import type { JournalRecord } from '@headgate/pipeline';
import { requestsPerSecond } from '@headgate/sources/books';
import { type Clock, type RateBudget, agedSnapshots, dailyBudget, rateBudget } from '@headgate/throttle';
import type { BooksOptions } from '../pipelines/books.ts';
import type { FollowersOptions } from '../pipelines/followers.ts';
import { type FreeSlots, freeSlots } from './forecast.ts';

/** When the requests of each credential come free, by what the lanes' journals say was used. */
export function freeCredentials(
  { credentials, limit }: Pick<FollowersOptions, 'limit'> & { readonly credentials: readonly { readonly name: string }[] },
  records: readonly JournalRecord[],
): ReadonlyMap<string, readonly FreeSlots[]> {
  // A credential may have come from another lane.
  const journals = Map.groupBy(records, ({ credential }) => credential);
  return new Map(
    credentials.map(({ name }) => {
      const budget = rateBudget({ limit: limit.requests, windowMs: limit.window, clock: standing(0) });
      return [name, freeSlots(restored(budget, journals.get(name) ?? [], 0))];
    }),
  );
}

/** When requests of the books' plan come free and, where there is a quota, ISBNs of the day. */
export interface FreeBooks {
  readonly requests: readonly FreeSlots[];
  readonly isbns?: readonly FreeSlots[];
}

/** The books' budgets at `now`, epoch ms. */
export function freeBooks(
  { plan, perDay }: Pick<BooksOptions, 'plan' | 'perDay'>,
  journal: readonly JournalRecord[],
  now: number,
): FreeBooks {
  const clock = standing(now);
  const rate = rateBudget({ limit: requestsPerSecond(plan), windowMs: 1_000, clock });
  const requests = freeSlots(restored(rate, journal, 0));
  if (perDay === undefined) return { requests };
  const { isbns, resetsAt, zone } = perDay;
  return { requests, isbns: freeSlots(restored(dailyBudget({ limit: isbns, resetsAt, zone, clock }), journal, 1)) };
}

/** `place`: which of a credential's budgets it is. */
function restored(budget: RateBudget, journal: readonly JournalRecord[], place: number): RateBudget {
  for (const { value, ageMs } of journal) {
    const snapshot = agedSnapshots(value, ageMs)[place];
    if (snapshot !== undefined) budget.restore(snapshot);
  }
  return budget;
}

/** All is reckoned for one instant. */
function standing(epochMs: number): Clock {
  return { monotonicMs: () => 0, epochMs: () => epochMs, schedule: () => () => undefined };
}
