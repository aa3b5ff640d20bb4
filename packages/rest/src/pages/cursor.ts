import * as z from 'zod';
import { given, place } from '../places.ts';
import { cursorIn } from './cursor-in.ts';
import { type StyleDefinition, shared } from './style.ts';

const settings = {
  cursor: given.describe('Path of the next cursor in the body, or `{ header: name }`.'),
  as: place.describe('Place of the cursor in the next request.'),
  encoded: z.boolean().exactOptional().describe('The cursor is already percent-encoded.'),
  first: shared.first,
  end: shared.end,
  alone: shared.alone,
};

/** Each response has the cursor of the next page. */
export const cursor: StyleDefinition<typeof settings> = {
  settings,
  flaw: (own) =>
    own.cursor === undefined || own.as !== undefined
      ? undefined
      : { at: 'cursor', message: 'needs a place in the next request. Add as: { query: cursor }.' },
  style: ({ cursor: from, as, encoded, first, end }) => ({
    first: first ?? null,
    place: as,
    isCounted: false,
    moves: 'never',
    next: (found) => cursorIn(found, from, end, encoded === true ? decoded : undefined),
  }),
};

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
