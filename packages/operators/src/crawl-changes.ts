import { HASHES, type IdTable, idTable } from './id-table.ts';
import { invalidOption } from './operator-error.ts';
import { type PositionSet, positionSet } from './position-set.ts';

/**
 * Reads a crawl's IDs from the start, in arrays of any length, such as pages. The order doesn't matter, but it must be the same each time.
 */
export type ReadCrawl = () => AsyncIterable<readonly string[]> | Iterable<readonly string[]>;

/** Options of {@link crawlChanges}. */
export interface CrawlChangesOptions {
  /** Reads the earlier crawl. Can be called several times, but not concurrently. */
  readonly before: ReadCrawl;
  /** Reads the later crawl. Can be called several times, but not concurrently. */
  readonly after: ReadCrawl;
  /**
   * Memory for the IDs that are compared at a time, in bytes: 15 per ID. If the IDs of both crawls need more, they are compared in parts.
   * Each part takes one reading of both crawls, and yielding the changes takes at most one more. Default 33,554,432: 2.2 million IDs.
   */
  readonly maxBytes?: number;
  /** Returns a number from 0 to below 1, which varies the hashes of IDs. Called once per comparison. Default `Math.random`. */
  readonly random?: () => number;
}

/** An ID that only one of two crawls has. */
export interface CrawlChange {
  /** `followed`: only the later crawl has the ID. `unfollowed`: only the earlier one has. */
  readonly change: 'followed' | 'unfollowed';
  /** An unsigned 64-bit whole number, in decimal digits. */
  readonly id: string;
}

const LEAST_BYTES = 4_096;

/**
 * Compares two crawls as sets, and yields each ID that only one of them has, once.
 *
 * New followers come first, in the order of the later crawl, then lost ones, in the order of the earlier crawl. It holds up to `maxBytes` of IDs,
 * up to about one bit for each ID of both crawls, and the current array. After the comparison, it reads the crawls only as fast as the consumer
 * takes the changes.
 *
 * @throws {@link OperatorError} when `maxBytes` isn't a whole number of at least 4,096; and at an ID that isn't an unsigned 64-bit decimal, when it
 * reads that ID.
 */
export function crawlChanges(options: CrawlChangesOptions): AsyncGenerator<CrawlChange, void, undefined> {
  const { before, after, maxBytes = 33_554_432, random = Math.random } = options;
  if (!Number.isSafeInteger(maxBytes) || maxBytes < LEAST_BYTES) {
    throw invalidOption('crawlChanges', 'maxBytes', `must be a whole number of at least ${LEAST_BYTES}, not ${maxBytes}`);
  }
  return changes({ before, after, maxBytes, random });
}

async function* changes({ before, after, ...options }: Required<CrawlChangesOptions>): AsyncGenerator<CrawlChange, void, undefined> {
  const { followed, unfollowed } = await compared(before, after, idTable(options));
  for await (const id of chosen(after, followed)) yield { change: 'followed', id };
  for await (const id of chosen(before, unfollowed)) yield { change: 'unfollowed', id };
}

interface Compared {
  /** Positions in the later crawl of IDs that the earlier one doesn't have. */
  readonly followed: PositionSet;
  /** Positions in the earlier crawl of IDs that the later one doesn't have. */
  readonly unfollowed: PositionSet;
}

async function compared(before: ReadCrawl, after: ReadCrawl, table: IdTable): Promise<Compared> {
  const [followed, unfollowed] = [positionSet(), positionSet()];
  for (let start = 0; start < HASHES; start = table.end) {
    table.begin(start);
    let position = 0;
    for await (const ids of before()) for (const id of ids) table.addBefore(id, position++);
    position = 0;
    for await (const ids of after()) {
      for (const id of ids) {
        if (table.addAfter(id)) followed.add(position);
        position += 1;
      }
    }
    for (const only of table.onlyBefore()) unfollowed.add(only);
  }
  return { followed, unfollowed };
}

/** Yields the IDs at these positions of a crawl, in order. */
async function* chosen(crawl: ReadCrawl, positions: PositionSet): AsyncGenerator<string, void, undefined> {
  let left = positions.size;
  if (left === 0) return;
  let position = 0;
  for await (const ids of crawl()) {
    for (const id of ids) {
      if (!positions.has(position++)) continue;
      yield id;
      left -= 1;
      if (left === 0) return;
    }
  }
}
