import { scalarOf } from './json-value.ts';
import { type Stream, placeholders } from './language.ts';
import { type Time, roughness, shifted, timeOf } from './time.ts';

/** State that a listing passes to the next listing with the same key. */
export type Carried = {
  /** The newest time of a record, as the service wrote it. */
  readonly newest: Time;
  /** Digests of records that a listing from `newest` minus the overlap returns again. */
  readonly digests: readonly string[];
};

/** Maximum number of kept digests. If the overlap contains more records, the next listing can write some of them again. */
export const MAX_DIGESTS = 4_000;

interface Dated {
  readonly records: readonly unknown[];
  readonly digests: readonly string[];
}

/** The state `before`, with the records of a page added. Undefined for a stream without `since`. */
export function carriedOn(stream: Stream, { records, digests }: Dated, before: Carried | undefined): Carried | undefined {
  const { since } = stream;
  if (since === undefined) return undefined;
  const newest = newestOf(stream, records, before?.newest);
  if (newest === undefined) return before;
  const rough = Math.max(0, ...[...placeholders(stream)].map(([, { name, format }]) => (name === 'since' ? roughness(format) : 0)));
  const from = (timeOf(shifted(newest, -(since.overlap ?? 0))) ?? 0) - rough;
  const isKept = (record: unknown): boolean => (timeOf(scalarOf(since.from.first(record))) ?? 0) >= from;
  const kept = new Set((timeOf(before?.newest) ?? 0) >= from ? before?.digests : []);
  for (const [i, record] of records.entries()) if (isKept(record)) kept.add(digests[i] ?? '');
  return { newest, digests: [...kept].slice(-MAX_DIGESTS) };
}

/** The newest time of these records and `before`, as the service wrote it. */
function newestOf({ since }: Pick<Stream, 'since'>, records: readonly unknown[], before: Time | undefined): Time | undefined {
  let newest = before;
  let ms = timeOf(before) ?? -Infinity;
  for (const record of since === undefined ? [] : records) {
    const time = scalarOf(since?.from.first(record));
    const its = timeOf(time) ?? -Infinity;
    if (typeof time === 'boolean' || time === undefined || its <= ms) continue;
    ms = its;
    newest = time;
  }
  return newest;
}
