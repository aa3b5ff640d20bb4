import * as z from 'zod';
import { addressAt } from './address.ts';
import { cursorOf } from './cursor-in.ts';
import { type StyleDefinition, shared } from './style.ts';

const settings = {
  link: z
    .string()
    .refine(
      (text) => !text.startsWith('$'),
      'is a path, but the Link header has relations. Write link: next, or for an address in the body next: $.next.',
    )
    .describe('Relation in the Link header with the next address, usually `next`.'),
  origin: shared.origin,
  end: shared.end,
};

/** The Link header has the next address. An address is relative to the request (RFC 8288, section 3.2). */
export const link: StyleDefinition<typeof settings> = {
  settings,
  style: ({ link: relation, origin, end }) => ({
    first: null,
    isCounted: false,
    moves: 'unseen',
    address: (at, baseUrl, path) => addressAt(at, origin, baseUrl, path),
    next: (found) => cursorOf(found, found.linked(relation), 'the Link header', end),
  }),
};
