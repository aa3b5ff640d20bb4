import { apiKey, type Secret } from '@headgate/auth';
import { type Clock, systemClock } from '@headgate/throttle';
import { nextTimeOfDay, type NumberChecks, numberChecks } from '@headgate/throttle/internal';
import type { Credential, Limit, SourceOptions } from '../source-options.ts';
import { invalidOption } from './books-errors.ts';

/** Options of {@link books}: those of every source, and the plan. */
export interface BooksOptions extends Omit<SourceOptions, 'baseUrl' | 'credentials'> {
  /** The plan of the key. `default`, `premium` and `pro` permit 1, 3 and 5 requests per second across all endpoints. Default `default`. */
  readonly plan?: BooksPlan;
  /** Address of the plan, without a query. A path is kept. Set either this or `baseUrls`. */
  readonly baseUrl?: string;
  /** Addresses by plan, instead of `baseUrl`. Only the one for `plan` is used. */
  readonly baseUrls?: Readonly<Partial<Record<BooksPlan, string>>>;
  /** The key, or a function that returns it for each request. Short for one credential named `key`. Set either this or `credentials`. */
  readonly key?: Secret;
  /** Several keys of the same plan. */
  readonly credentials?: readonly Credential[];
  /** Maximum ISBNs in one request. Observed plans accept 10, 100 or 1,000. Default 100. */
  readonly maxBatch?: number;
  /** Maximum time, in ms, that an ISBN waits for its batch to fill. Default 200. */
  readonly batchWaitMs?: number;
  /** Daily quota of each key: an ISBN of a batch counts as one call. Default: no quota. */
  readonly perDay?: DailyQuota;
}

/** The time when a daily quota resets. */
export interface QuotaReset {
  /** Time of day, `HH:MM`. */
  readonly resetsAt: string;
  /** IANA name of a time zone. */
  readonly zone: string;
}

/** A daily quota of calls per key, and the time when it resets. */
export interface DailyQuota extends Partial<QuotaReset> {
  /** Maximum calls from one reset to the next. The reset is at `00:00` in `UTC` by default. */
  readonly isbns: number;
}

/** Checked options of the books service, with defaults. `defineSource` checks the options in `source`. */
export interface CheckedBooksOptions {
  readonly plan: BooksPlan;
  readonly maxBatch: number;
  readonly batchWaitMs: number;
  readonly limit: Limit;
  readonly hasQuota: boolean;
  readonly quotaReset: QuotaReset;
  readonly clock: Clock;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
  /** Maximum total of the waits between the tries of one request, in ms. */
  readonly retryForMs: number;
  readonly source: SourceOptions;
}

/** Checks the options of `books`. Throws a `SourceError` with `HEADGATE_INVALID_OPTION` that names the option and its valid values. */
export function checkedBooksOptions(options: BooksOptions): CheckedBooksOptions {
  const { plan = 'default', baseUrl, baseUrls, key, credentials, maxBatch = 100, batchWaitMs = 200, perDay, ...rest } = options;
  // Plain JavaScript and configuration files can contain anything.
  if (!['default', 'premium', 'pro'].includes(plan)) throw invalidOption('plan must be default, premium or pro');
  const address = baseUrl ?? baseUrls?.[plan];
  if (address === undefined) throw invalidOption(`set baseUrl, or baseUrls.${plan} for the ${plan} plan`);
  if ((key === undefined) === (credentials === undefined)) throw invalidOption('set either key or credentials');
  const check = booksChecks();
  check.whole({ maxBatch }, 1);
  check.number({ batchWaitMs }, 0, LONGEST_WAIT_MS);
  // A quota that is smaller than a batch would never permit one.
  if (perDay !== undefined) check.whole({ 'perDay.isbns, which is at least maxBatch,': perDay.isbns }, maxBatch);
  const quotaReset: QuotaReset = { resetsAt: perDay?.resetsAt ?? '00:00', zone: perDay?.zone ?? 'UTC' };
  try {
    nextTimeOfDay(quotaReset.resetsAt, quotaReset.zone);
  } catch (cause) {
    throw invalidOption('perDay.resetsAt must be a time of day such as 00:00, and perDay.zone the name of a time zone', cause);
  }
  const limit = rest.limit ?? { requests: requestsPerSecond(plan), windowMs: 1_000 };
  const keys = credentials ?? (key === undefined ? [] : [{ name: 'key', signer: apiKey(key) }]);
  return {
    plan,
    maxBatch,
    batchWaitMs,
    limit,
    hasQuota: perDay !== undefined,
    quotaReset,
    clock: rest.clock ?? systemClock(),
    random: rest.random ?? Math.random,
    retryForMs: rest.retryForMs ?? 600_000,
    source: {
      ...rest,
      limit,
      baseUrl: address,
      credentials: keys,
      ...(perDay !== undefined && {
        budgets: { isbns: { requests: perDay.isbns, per: 'day', unit: 'ISBNs', ...quotaReset }, ...rest.budgets },
      }),
    },
  };
}

/** Checks of the numbers in options of books. */
export function booksChecks(): NumberChecks {
  return numberChecks((option, must) => invalidOption(`${option} must be ${must}`));
}

const LONGEST_WAIT_MS = 60_000;

/** The plan of a key. Each plan has its own address, and a key works only there. */
export type BooksPlan = 'default' | 'premium' | 'pro';

function requestsPerSecond(plan: BooksPlan): number {
  const allowed: Readonly<Record<BooksPlan, number>> = { default: 1, premium: 3, pro: 5 };
  return allowed[plan];
}
