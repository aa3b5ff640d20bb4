import { HASHES, IdTable } from './id-table.ts';
import { invalidOption, type OperatorError, optionChecks } from './operator-error.ts';
import { PositionSet } from './position-set.ts';

/**
 * Reads a crawl's IDs from the start, in arrays of any length, such as pages. The order doesn't matter, but it must be the same each time.
 * Each call returns a new reading: an iterator or a stream can be read only once.
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
 * @throws {@link OperatorError} when an option is invalid; when it reads an ID that isn't an unsigned 64-bit decimal, as text; and when a
 * later reading of a crawl is another than the first, which can be after some changes.
 */
export function crawlChanges(options: CrawlChangesOptions): AsyncGenerator<CrawlChange, void, undefined> {
  const { before, after, maxBytes = 33_554_432, random = Math.random } = options;
  optionChecks('crawlChanges').whole({ maxBytes }, LEAST_BYTES);
  return changes(new Crawl('before', before), new Crawl('after', after), new IdTable(maxBytes, random));
}

async function* changes(before: Crawl, after: Crawl, table: IdTable): AsyncGenerator<CrawlChange, void, undefined> {
  const [followed, unfollowed] = [new PositionSet(), new PositionSet()];
  for (let start = 0; start < HASHES; start = table.end) {
    table.begin(start);
    let position = 0;
    for await (const ids of before.pages()) for (const id of ids) table.addBefore(id, position++);
    position = 0;
    for await (const ids of after.pages()) {
      for (const id of ids) {
        if (table.addAfter(id)) followed.add(position, table.hash(id));
        position += 1;
      }
    }
    for (const only of table.onlyBefore()) unfollowed.add(only.position, only.hash);
  }
  for await (const id of after.chosen(followed, table)) yield { change: 'followed', id };
  for await (const id of before.chosen(unfollowed, table)) yield { change: 'unfollowed', id };
}

/** A crawl that is read several times, and the check that it is the same crawl each time. */
class Crawl {
  readonly #option: 'before' | 'after';
  readonly #read: ReadCrawl;
  /** Number of IDs at the first reading. */
  #count: number | undefined;

  constructor(option: 'before' | 'after', read: ReadCrawl) {
    this.#option = option;
    this.#read = read;
  }

  async *pages(): AsyncGenerator<readonly string[], void, undefined> {
    let count = 0;
    for await (const ids of this.#read()) {
      count += ids.length;
      yield ids;
    }
    this.#count ??= count;
    if (count !== this.#count) throw this.#changed(`it had ${this.#count} IDs at first, and ${count} later`);
  }

  /** Yields the IDs at these positions, in order. */
  async *chosen(positions: PositionSet, table: IdTable): AsyncGenerator<string, void, undefined> {
    let { size: left, digest } = positions;
    if (left === 0) return;
    let position = 0;
    for await (const ids of this.pages()) {
      for (const id of ids) {
        if (!positions.has(position++)) continue;
        yield id;
        digest ^= table.hash(id);
        left -= 1;
        if (left > 0) continue;
        if (digest !== 0) throw this.#changed('it had other IDs at its last reading, or in another order');
        return;
      }
    }
  }

  #changed(how: string): OperatorError {
    const reason = `must return the same crawl from its start at each call: ${how}. An iterator or a stream can be read only once`;
    return invalidOption('crawlChanges', this.#option, reason);
  }
}
