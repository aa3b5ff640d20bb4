import { scalarOf } from './json-value.ts';
import { type Since, type Stream, placeholders } from './language.ts';
import { type Time, roughness, shifted, timeOf } from './time.ts';

/** State that a listing passes to the next listing with the same key. */
export type Carried = {
  /** The newest time of a record, as the service wrote it. Undefined if all times are too far ahead to count. */
  readonly newest?: Time | undefined;
  /** Digests and times (epoch ms) of records that a listing from `newest` minus the overlap returns again. */
  readonly written: Readonly<Record<string, number>>;
};

/**
 * Maximum number of kept digests, the newest ones: of the records of the overlap, and as many of those that are too far ahead to count. If
 * there are more, the next listing can write some of them again.
 */
export const MAX_DIGESTS = 4_000;

/**
 * Maximum ms by which a time can be ahead of the response and still count as the newest. A time such as 9999-12-31 would hide all later changes.
 * Local times without a zone are at most 14 hours ahead.
 */
const MAX_AHEAD_MS = 86_400_000;

interface Dated {
  readonly records: readonly unknown[];
  readonly digests: readonly string[];
  /** Time of the response, epoch ms. */
  readonly receivedMs: number;
}

/** The state `before`, with the records of a page added. Undefined for a stream without `since`. */
export function carriedOn(stream: Stream, { records, digests, receivedMs }: Dated, before: Carried | undefined): Carried | undefined {
  const { since } = stream;
  if (since === undefined) return undefined;
  if (records.length === 0) return before;
  const until = receivedMs + MAX_AHEAD_MS;
  const newest = newestOf(since, { records, before: before?.newest, until });
  const rough = Math.max(0, ...[...placeholders(stream)].map(([, { name, format }]) => (name === 'since' ? roughness(format) : 0)));
  const from = newest === undefined ? -Infinity : (timeOf(shifted(newest, -(since.overlap ?? 0))) ?? 0) - rough;
  const written = new Map(Object.entries(before?.written ?? {}));
  for (const [i, record] of records.entries()) written.set(digests[i] ?? '', timeOf(scalarOf(since.from.first(record))) ?? 0);
  const kept = [...written].filter(([, ms]) => ms >= from).toSorted(([, one], [, other]) => one - other);
  const { overlap, ahead } = parted(kept, newest);
  return { newest, written: Object.fromEntries([...overlap.slice(-MAX_DIGESTS), ...ahead.slice(-MAX_DIGESTS)]) };
}

/** Separates the records of the overlap from those ahead of the newest time, which every listing returns again. */
function parted(written: readonly (readonly [digest: string, ms: number])[], newest: Time | undefined) {
  const newestMs = timeOf(newest) ?? -Infinity;
  return { overlap: written.filter(([, ms]) => ms <= newestMs), ahead: written.filter(([, ms]) => ms > newestMs) };
}

/** Whether the next listing can write records of the overlap again, or records ahead of it, because there are too many to keep. */
export function crowdedIn({ newest, written = {} }: Partial<Carried> = {}): { readonly overlap: boolean; readonly ahead: boolean } {
  const { overlap, ahead } = parted(Object.entries(written), newest);
  return { overlap: overlap.length >= MAX_DIGESTS, ahead: ahead.length >= MAX_DIGESTS };
}

/** The digests of all records that the next listing skips. */
export function writtenOf(carried: Carried | undefined): readonly string[] {
  return Object.keys(carried?.written ?? {});
}

interface Compared {
  readonly records: readonly unknown[];
  readonly before: Time | undefined;
  readonly until: number;
}

/** The newest time of these records and `before`, as the service wrote it. Times after `until`, epoch ms, don't count. */
function newestOf({ from }: Since, { records, before, until }: Compared): Time | undefined {
  let newest = before;
  let ms = timeOf(before) ?? -Infinity;
  for (const record of records) {
    const time = scalarOf(from.first(record));
    const its = timeOf(time) ?? -Infinity;
    if (typeof time === 'boolean' || time === undefined || its <= ms || its > until) continue;
    ms = its;
    newest = time;
  }
  return newest;
}
