import { type BooksPlan, requestsPerSecond } from '@headgate/sources/books';
import { nextTimeOfDay } from '@headgate/throttle';
import type { BooksOptions } from '../pipelines/books.ts';
import { type FreeSlots, forecastMs } from './forecast.ts';
import type { FreeBooks } from './free-budgets.ts';

export interface BookForecastOptions {
  readonly books: Pick<BooksOptions, 'plan' | 'maxBatch' | 'perDay'>;
  readonly isbns: number;
  readonly authors: number;
  readonly free: FreeBooks;
  /** Epoch ms. */
  readonly now: number;
}

export interface BookForecast {
  /** Requests for the ISBNs, and how many each asks for at most. */
  readonly batches: number;
  readonly batch: number;
  /** When all of it is done: ms from now. */
  readonly inMs: number;
  /** What the fastest plan would save. */
  readonly savedMs: number;
}

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

/** Forecasts ISBNs and authors: a request of the plan's rate for each batch or author, and one of the day's quota for each ISBN or author. */
export function forecastBooks({ books, isbns, authors, free, now }: BookForecastOptions): BookForecast {
  const { maxBatch, perDay } = books;
  const batch = Math.min(maxBatch, perDay?.isbns ?? Infinity);
  const quota = perDay && free.isbns && { perDay, slots: free.isbns, now };
  const batches = batchesOf(isbns, batch, quota);
  const units = isbns + authors;
  const day = quota && lastDay(units, quota);
  const inMs = (slots: readonly FreeSlots[], plan: BooksPlan): number => {
    const byRate = forecastMs({ requests: batches + authors, slots, windowMs: SECOND_MS });
    if (day === undefined) return byRate;
    const onLastDay = Math.ceil((isbns * day.units) / units / batch) + Math.ceil((authors * day.units) / units);
    const fresh = [{ inMs: day.inMs, count: requestsPerSecond(plan) }];
    return Math.max(byRate, forecastMs({ requests: onLastDay, slots: fresh, windowMs: SECOND_MS }));
  };
  const own = inMs(free.requests, books.plan);
  return { batches, batch, inMs: own, savedMs: own - inMs([{ inMs: 0, count: requestsPerSecond('pro') }], 'pro') };
}

interface Quota {
  readonly perDay: NonNullable<BooksOptions['perDay']>;
  readonly slots: readonly FreeSlots[];
  /** Epoch ms. */
  readonly now: number;
}

/** Requests for so many ISBNs: where a quota lets them go on several days, the last batch of each is cut to what is left of it. */
function batchesOf(isbns: number, batch: number, quota: Quota | undefined): number {
  const today = quota === undefined ? Infinity : leftToday(quota);
  if (quota === undefined || isbns <= today) return Math.ceil(isbns / batch);
  const { perDay } = quota;
  const later = isbns - today;
  const wholeDays = Math.floor(later / perDay.isbns);
  return Math.ceil(today / batch) + wholeDays * Math.ceil(perDay.isbns / batch) + Math.ceil((later % perDay.isbns) / batch);
}

/** The day on which the quota lets the last of so many go, and how many are left for it; undefined where they may go now. */
function lastDay(units: number, quota: Quota): { readonly inMs: number; readonly units: number } | undefined {
  const { perDay, slots, now } = quota;
  const today = leftToday(quota);
  const held = Math.min(...slots.map(({ inMs }) => inMs));
  if (units <= today) return held > 0 ? { inMs: held, units } : undefined;
  const days = Math.ceil((units - today) / perDay.isbns);
  const first = nextReset(perDay, now);
  // Days of 23 and of 25 hours are among them.
  const last = days === 1 ? first : nextReset(perDay, first + (days - 1.5) * DAY_MS);
  return { inMs: Math.max(held, last - now), units: units - today - (days - 1) * perDay.isbns };
}

function leftToday({ perDay, slots, now }: Quota): number {
  const first = nextReset(perDay, now);
  return slots.reduce((sum, { inMs, count }) => sum + (now + inMs < first ? count : 0), 0);
}

function nextReset({ resetsAt, zone }: Quota['perDay'], afterMs: number): number {
  return nextTimeOfDay({ at: resetsAt, zone, afterMs });
}
