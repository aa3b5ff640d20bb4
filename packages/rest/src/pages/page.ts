import { given, place } from '../places.ts';
import { LAST, type StyleDefinition, countOf, firstFlaw, shared } from './style.ts';

const settings = {
  page: place.describe('Place of the page number in the request.'),
  first: shared.first,
  last: given.exactOptional().describe('Path of the number of pages, or `{ header: name }`.'),
  total: shared.total,
  alone: shared.alone,
};

/** Pages have numbers. An empty page is the last one, if nothing else says which is. */
export const page: StyleDefinition<typeof settings> = {
  settings,
  flaw: (own) => firstFlaw('page', own.first),
  style: ({ page: to, first = 1, last, total }) => ({
    first,
    place: to,
    isCounted: true,
    moves: 'unseen',
    next({ at, records, cursor, isFlagged }) {
      const pages = last && countOf(at(last));
      if (records === 0 && !isFlagged && pages === undefined) return LAST;
      const number = Number(cursor.at ?? first);
      // The records are counted, because a service can return fewer per page than requested.
      const isLast = number >= (pages ?? Infinity) || (cursor.records ?? 0) + records >= ((total && countOf(at(total))) ?? Infinity);
      return isLast ? LAST : { at: number + 1 };
    },
  }),
};
