import { SourceError } from '@headgate/sources';
import type { RestErrorCode } from './answer.ts';
import type { Cursor } from './cursor.ts';
import { scalarOf } from './json-value.ts';
import type { Since } from './since.ts';
import type { Stream } from './streams.ts';
import { type Time, shifted, timeOf } from './time.ts';

/** State that a listing passes to the next listing with the same key. */
export type Carried = {
  /** The newest time of a record, as the service wrote it, among those up to the beginning of the listing. Undefined if there is none. */
  readonly newest?: Time | undefined;
  /**
   * Digests of written records that the next listing returns again: joined, by the second of their times. While a listing runs, only the
   * digests of its records.
   */
  readonly written: Readonly<Record<string, string>>;
};

/** Maximum number of digests. A listing that needs more fails, because it could write records twice. In bytes, they are 800 kB of state. */
export const MAX_DIGESTS = 100_000;
/** Maximum number of digests that a listing without an order keeps until its end. */
const MAX_KEPT = 10_000;
const DIGEST_LENGTH = 8;

/** The records of a page that were written, and the listing that the page belongs to. */
interface Page {
  readonly records: readonly unknown[];
  readonly digests: readonly string[];
  /** Time at which the listing began, epoch ms by the clock of the service. Later times don't count as the newest. */
  readonly upTo: number;
  readonly isFirst: boolean;
  /** The cursor of the next page; undefined after the last one. */
  readonly next: Cursor | undefined;
}

interface Listing {
  /** The value that the listing started with. */
  readonly before: Carried | undefined;
  /** The value after the previous page. */
  readonly now: Carried | undefined;
  /** The times from which a record couldn't be written, so that the next listing starts there at the latest. Null: at the beginning. */
  readonly held?: readonly (Time | null)[];
  /** Job of the listing, for errors. */
  readonly subject: string;
  readonly service: string;
}

/** The carried value after a page. Undefined for a stream without `since`. Throws a `SourceError` if it would have too many digests. */
export function carriedOn(stream: Stream, page: Page, { before, now, held = [], subject, service }: Listing): Carried | undefined {
  const { since } = stream;
  if (since === undefined) return undefined;
  const current: Carried = page.isFirst ? { newest: before?.newest, written: {} } : (now ?? { written: {} });
  const newest = newestOf(since, page, current.newest);
  const againMs = Math.min(...[newest, ...held].map((time) => againFromMs(since, time ?? undefined)));
  const from = secondOf(Math.min(againMs, stream.isByTime ? nextFromMs(since, page) : Infinity) - stream.roughMs);
  const known = new Set(writtenOf(before));
  const written = new Map(Object.entries(current.written));
  for (const [i, record] of page.records.entries()) {
    const digest = page.digests[i] ?? '';
    const second = String(secondOf(timeOf(scalarOf(since.from.first(record)), since.zone) ?? 0));
    if (!known.has(digest)) written.set(second, (written.get(second) ?? '') + digest);
  }
  // The digests of `before` are stored once while the listing runs, because each page stores the whole value.
  if (page.next === undefined)
    for (const [second, digests] of Object.entries(before?.written ?? {})) written.set(second, (written.get(second) ?? '') + digests);
  const kept = [...written].filter(([second]) => Number(second) >= from);
  // In a list without this order, a record on a later page can turn out to be older, and not to fit.
  const isSmall = page.next !== undefined && since.order !== 'ascending' && countOf(written) <= MAX_KEPT;
  if (isSmall) return { newest, written: Object.fromEntries(written) };
  if (countOf(kept) > MAX_DIGESTS) throw crowded(since, subject, service);
  return { newest, written: Object.fromEntries(kept) };
}

function countOf(written: Iterable<readonly [second: string, digests: string]>): number {
  let length = 0;
  for (const [, digests] of written) length += digests.length;
  return length / DIGEST_LENGTH;
}

/** Time from which the next listing returns records again, epoch ms. */
function againFromMs({ overlap = 0, zone }: Since, newest: Time | undefined): number {
  return newest === undefined ? -Infinity : (timeOf(shifted(newest, -overlap, zone), zone) ?? 0);
}

/** Time from which the next page of a listing by time returns records again, epoch ms. */
function nextFromMs({ zone }: Since, { next }: Page): number {
  return next === undefined ? Infinity : (timeOf(next.since, zone) ?? -Infinity);
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000);
}

function crowded({ from, overlap = 0 }: Since, subject: string, service: string): SourceError {
  const most = MAX_DIGESTS.toLocaleString('en-US');
  const cure = overlap > 0 ? 'make overlap shorter' : 'write a more precise {since}';
  const message = `${subject}: more than ${most} records are as new as the newest one, or newer than this listing, so later listings couldn't tell which are written. Check since.from (${from.text}), dismiss dead letters of this stream, or ${cure}.`;
  const code: RestErrorCode = 'HEADGATE_SINCE_CROWDED';
  return new SourceError({ code, message, retryable: false, service, subject });
}

/** The digests of all records that a listing skips. */
export function writtenOf(carried: Carried | undefined): readonly string[] {
  return Object.values(carried?.written ?? {}).flatMap((digests) => digests.match(/.{8}/g) ?? []);
}

interface Dated {
  readonly records: readonly unknown[];
  readonly upTo: number;
}

/** The newest time of these records and `before`, as the service wrote it. Times after `upTo`, epoch ms, don't count. */
export function newestOf({ from, zone }: Since, { records, upTo }: Dated, before: Time | undefined): Time | undefined {
  let newest = before;
  let ms = timeOf(before, zone) ?? -Infinity;
  for (const record of records) {
    const time = scalarOf(from.first(record));
    const its = timeOf(time, zone) ?? -Infinity;
    if (typeof time === 'boolean' || time === undefined || its <= ms || its > upTo) continue;
    ms = its;
    newest = time;
  }
  return newest;
}
