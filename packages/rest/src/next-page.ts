import { linkTarget } from '@headgate/sources';
import { MAX_AGAIN } from './cursor.ts';
import { digestOf, scalarOf, spelled } from './json-value.ts';
import { type Answered, freshFrom } from './listed-page.ts';
import { type Following, type Found, LAST, type NextAt } from './pages/index.ts';
import { type Said, saidAt } from './places.ts';
import type { Stream } from './streams.ts';

/** The next page, the end, or the reason why it can't be determined. */
export function nextOf(
  stream: Stream,
  { value, answer, context }: Answered,
  records: readonly unknown[],
  digests: readonly string[],
): NextAt | { readonly repeated: true } {
  const { cursor } = context.query;
  const { pages } = stream;
  if (pages?.style === undefined) return LAST;
  const { style } = pages;
  const at = (place: Said): unknown => saidAt(place, answer, () => value);
  if (pages.while !== undefined && !isYes(at(pages.while))) return LAST;
  if (pages.until !== undefined && isYes(at(pages.until))) return LAST;
  if (pages.most !== undefined && (cursor.pages ?? 0) + 1 >= pages.most) return LAST;
  const size = pages.size?.is;
  if (pages.short !== undefined && size !== undefined && records.length < size) return LAST;
  const found: Found = {
    at,
    linked: (relation) => linkTarget(answer.headers['link'] ?? '', relation),
    records: records.length,
    cursor,
    size,
    saysMore: pages.while !== undefined,
    isFlagged: (pages.while ?? pages.until) !== undefined,
    takesJson: style.place?.body !== undefined && stream.form === undefined,
    overlaps: stream.since !== undefined && style.moves === 'seen',
    isKnown: () => freshFrom(cursor, digests) > 0,
  };
  // In a stream with `since`, a list can move by exactly one page. Records that come again are omitted there.
  const isSame = style.isCounted && stream.since !== undefined && records.length > 0 && cursor.before === digestOf(digests);
  const again = (cursor.again ?? 0) + 1;
  if (isSame && again > MAX_AGAIN) return { repeated: true };
  const next = style.next(found);
  if ('unfit' in next || next.at === undefined) return next;
  if (pages.repeats === 'end' && spelled(next.at) === spelled(cursor.at)) return LAST;
  return isSame ? { ...next, again } : next;
}

/** Values that count as false in `pages.while` and `pages.until`, in addition to null, a missing value, and an empty list or object. */
const NO: readonly unknown[] = [false, 0, '', '0', 'false', 'no'];

function isYes(value: unknown): boolean {
  if (value === undefined || value === null || NO.includes(typeof value === 'string' ? value.toLowerCase() : value)) return false;
  return scalarOf(value) !== undefined || Object.keys(value).length > 0;
}

/** The next page without the parameters that carry a credential's key, since the checkpoint stores an address. The signer adds the key again. */
export function withoutKeys({ pages }: Stream, next: Following, keyParameters: readonly string[]): Following {
  const isAddress = pages?.style?.address !== undefined;
  return isAddress && typeof next.at === 'string' ? { ...next, at: withoutParameters(next.at, keyParameters) } : next;
}

/** An address without the named parameters of its query. The other parameters stay exactly as they are. */
function withoutParameters(address: string, names: readonly string[]): string {
  const [path = '', query] = address.split(/\?(.*)/s, 2);
  if (query === undefined || names.length === 0) return address;
  const kept = query.split('&').filter((pair) => ![...new URLSearchParams(pair).keys()].some((name) => names.includes(name)));
  return kept.length === 0 ? path : `${path}?${kept.join('&')}`;
}
