import { checkNumbers } from '../option-number.ts';
import { createBooksService } from './books-service.ts';
import type { BooksKey, BooksPlan } from './books-service.ts';
import type { DailyQuotaOptions } from './daily-quota.ts';
import type { Fault } from '../http/fault.ts';
import { createLatency } from '../http/latency.ts';
import type { Latency } from '../http/latency.ts';
import { startLoopback } from '../http/loopback-server.ts';
import type { ServedRequest } from '../http/request-log.ts';
import { seededRandom } from '../seeded-random.ts';
import type { WindowOptions } from '../http/window.ts';

/** Options of {@link startBooks}. */
export interface BooksSandboxOptions {
  /** Port of the default plan on 127.0.0.1. Premium and pro get the next two ports. Default 0: three free ports. */
  readonly port?: number;
  /** Accepted keys, each at its plan's address. Default: any key at any address, named `key 1`, `key 2` and so on. */
  readonly keys?: readonly BooksKey[];
  /** The window of each key; default `{ kind: 'rolling', windowMs: 1000 }` and the plan's limit: 1, 3 or 5. */
  readonly window?: Partial<WindowOptions>;
  /** The response to a request over the window's limit or the daily quota. `both`: 429 and 404 alternate. Default `both`. */
  readonly limitAnswer?: '404' | '429' | 'both';
  /** Body of a 404 for an unknown ISBN or author, which can be empty or any text. Default `{"errorMessage":"Not Found"}`. */
  readonly unknown404Body?: string;
  /** Body of a 404 over a limit. Default: `unknown404Body`, so that nothing distinguishes the two. */
  readonly limit404Body?: string;
  /** Status of the response to a batch of unknown ISBNs only. Default 200, with no records. */
  readonly unknownBatch?: 200 | 404;
  /** ISBNs that each key may request per day; an author counts as one. Default: no limit. */
  readonly dailyQuota?: DailyQuotaOptions;
  /**
   * Unknown ISBNs (of 13 digits) and author names, or a function that tests for them. Default: every valid ISBN and every author is known.
   */
  readonly unknown?: readonly string[] | ((isbnOrAuthor: string) => boolean);
  /** Maximum ISBNs per batch. Default 1000. */
  readonly maxBatch?: number;
  /** Faults, each with the requests that it is applied to, counted over the three addresses together. Default: none. */
  readonly faults?: readonly Fault[];
  /** Duration of a response in milliseconds, in real time. Default 0. */
  readonly latencyMs?: Latency;
  /** Seed of records, their order and latencies. Default 1. */
  readonly seed?: number;
  /** Returns epoch milliseconds for windows, quotas and `date` headers. Default `Date.now`. Latencies and drips always use real time. */
  readonly now?: () => number;
}

/** A running emulator of the book catalog. */
export interface BooksSandbox extends AsyncDisposable {
  /** The default plan's base address, without a slash at its end. */
  readonly url: string;
  /** Each plan's base address. */
  readonly urls: Readonly<Record<BooksPlan, string>>;
  /** The newest 100,000 requests at all three addresses, oldest first, with at most 1,000,000 ISBNs. */
  readonly requests: readonly ServedRequest[];
  /**
   * Replaces the faults from the next request on, which counts as their request 1. For example,
   * `setFaults([{ name: '503', times: Infinity }])` begins an outage, and `setFaults([])` ends it. Requests that were already read keep
   * their faults. Throws `SandboxOptionError` for an invalid fault, and then changes nothing.
   */
  readonly setFaults: (faults: readonly Fault[]) => void;
  /** Closes every connection and the servers. */
  readonly close: () => Promise<void>;
}

/** Starts an emulator of the book catalog on 127.0.0.1, with one address for each plan. Throws `SandboxOptionError` for invalid options. */
export async function startBooks(options: BooksSandboxOptions = {}): Promise<BooksSandbox> {
  const { port = 0, keys, window = {}, dailyQuota, unknown = [], faults = [], latencyMs = 0, seed = 1, now = Date.now } = options;
  const { maxBatch = 1_000, unknown404Body = '{"errorMessage":"Not Found"}' } = options;
  checkNumbers({ seed }, { fractions: true });
  // The plans have this port and the two after it.
  checkNumbers({ port }, { least: 0, most: 65_533 });
  const random = seededRandom(seed);
  const loopback = await startLoopback({
    ports: port === 0 ? [0, 0, 0] : [port, port + 1, port + 2],
    serve: createBooksService({
      keys,
      window,
      dailyQuota,
      limitAnswer: options.limitAnswer ?? 'both',
      unknown404Body,
      limit404Body: options.limit404Body ?? unknown404Body,
      isUnknownBatch404: options.unknownBatch === 404,
      isUnknown: typeof unknown === 'function' ? unknown : (name) => unknown.includes(name),
      maxBatch,
      seed,
      random,
    }),
    faults,
    refusedFaults: ['cursor-loop', 'no-cursor'],
    latency: createLatency(latencyMs, random),
    now,
  });
  const [url = '', premium = '', pro = ''] = loopback.urls;
  return {
    url,
    urls: { default: url, premium, pro },
    get requests() {
      return loopback.requests();
    },
    setFaults: loopback.setFaults,
    close: loopback.close,
    [Symbol.asyncDispose]: loopback.close,
  };
}
