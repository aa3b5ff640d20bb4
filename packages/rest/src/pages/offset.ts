import { place } from '../places.ts';
import { LAST, type StyleDefinition, countOf, firstFlaw, shared } from './style.ts';

const settings = {
  offset: place.describe('Place of the offset in the request: the number of records before the page.'),
  first: shared.first,
  total: shared.total,
  alone: shared.alone,
};

/** Pages begin after a number of records. In a stream with `since`, a page begins at the last record of the page before. */
export const offset: StyleDefinition<typeof settings> = {
  settings,
  flaw: (own) => firstFlaw('offset', own.first),
  style: ({ offset: to, first = 0, total }) => ({
    first,
    place: to,
    isCounted: true,
    moves: 'seen',
    next({ at: valueAt, records, cursor, size, isFlagged, overlaps, isKnown }) {
      if (records === 0 && !isFlagged) return LAST;
      if (records === 0 && size === undefined)
        return { unfit: 'an empty page, after which more are said to follow: pages.size has to say where they begin' };
      const at = Number(cursor.at ?? first) + (records === 0 ? Number(size) : records);
      const all = total && countOf(valueAt(total));
      if (at - Number(first) >= (all ?? Infinity)) return LAST;
      if (overlaps && records > 1) return { at: at - 1, overlaps: true };
      // Only the last record of the previous page came again. Without a count or a flag for more pages, it is the last one.
      return overlaps && isKnown() && !isFlagged && all === undefined ? LAST : { at };
    },
  }),
};
