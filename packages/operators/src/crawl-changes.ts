import { InvalidIdError } from './invalid-id-error.ts';
import { InvalidOptionError } from './invalid-option-error.ts';
import { markedIdSet } from './marked-id-set.ts';
import { TooManyIdsError } from './too-many-ids-error.ts';

/** Options of {@link crawlChanges}. */
export interface CrawlChangesOptions {
  /** The ids of the earlier crawl, in any order. */
  readonly before: AsyncIterable<string> | Iterable<string>;
  /** The ids of the later crawl, in any order. */
  readonly after: AsyncIterable<string> | Iterable<string>;
  /** How many different ids may be remembered, at no more than 16 bytes each. Default: 50,000,000, which is 800 MB. */
  readonly maxIds?: number;
}

/** An id that one of two crawls has and the other hasn't. */
export interface CrawlChange {
  readonly change: 'followed' | 'unfollowed';
  readonly id: string;
}

const BEFORE = 1;
/** An id of the later crawl, whether the earlier one has it or not: it is not unfollowed, and it is no news a second time. */
const AFTER = 2;

/**
 * Compares two crawls as sets and gives every id that only one of them has, once.
 *
 * First those that were followed, in the order of the later crawl and as it is read; then those that were unfollowed, in no particular order,
 * but in the same whenever the same crawls are compared.
 * Both are read one id at a time, as fast as the changes are taken. Memory in use: no more than 16 bytes for each different id of both
 * crawls together, and 36 kB. What was outgrown waits for the garbage collector on top of that, for a while about half as much again.
 *
 * @throws {@link InvalidOptionError} when `maxIds` is not a whole number of at least 1; while it is read {@link InvalidIdError} at an id that
 * is no unsigned 64-bit decimal, and {@link TooManyIdsError} beyond `maxIds`.
 */
export function crawlChanges({ before, after, maxIds = 50_000_000 }: CrawlChangesOptions): AsyncGenerator<CrawlChange, void, undefined> {
  if (!Number.isSafeInteger(maxIds) || maxIds < 1) {
    throw new InvalidOptionError('crawlChanges', 'maxIds', `must be a whole number of at least 1, not ${maxIds}`);
  }
  return changes({ before, after, maxIds });
}

async function* changes({ before, after, maxIds }: Required<CrawlChangesOptions>): AsyncGenerator<CrawlChange, void, undefined> {
  const seen = markedIdSet();
  const mark = (id: string, crawl: number): number => {
    const had = seen.mark(parsed(id), crawl);
    if (seen.size > maxIds) {
      throw new TooManyIdsError(maxIds);
    }
    return had;
  };
  for await (const id of before) {
    mark(id, BEFORE);
  }
  for await (const id of after) {
    if (mark(id, AFTER) === 0) {
      yield { change: 'followed', id };
    }
  }
  for (const id of seen.withMark(BEFORE)) {
    yield { change: 'unfollowed', id: id.toString() };
  }
}

const MAX_ID = 2n ** 64n - 1n;

function parsed(id: string): bigint {
  const value = /^(?:0|[1-9][0-9]{0,19})$/.test(id) ? BigInt(id) : undefined;
  if (value === undefined || value > MAX_ID) {
    throw new InvalidIdError(id);
  }
  return value;
}
