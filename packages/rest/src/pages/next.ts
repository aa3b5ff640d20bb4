import { scalarOf, spelled } from '../json-value.ts';
import { path } from '../path.ts';
import { addressAt } from './address.ts';
import { cursorIn } from './cursor-in.ts';
import { type StyleDefinition, shared } from './style.ts';

const settings = {
  next: path().describe('Path of the next address in the body.'),
  base: path({ singular: true })
    .exactOptional()
    .describe('Path in the body of the address that comes before a `next` with a leading slash.'),
  origin: shared.origin,
  end: shared.end,
};

/** The body has the next address. One that starts with `?` is relative to the request, others to `baseUrl`. */
export const next: StyleDefinition<typeof settings> = {
  settings,
  style: ({ next: place, base, origin, end }) => ({
    first: null,
    isCounted: false,
    moves: 'unseen',
    address: (at, baseUrl, of) => addressAt(at, origin, baseUrl, at.startsWith('?') ? of : '/'),
    next(found) {
      const following = cursorIn(found, place, end);
      if (base === undefined || 'unfit' in following || following.at === undefined) return following;
      const [address, before] = [spelled(following.at), scalarOf(found.at(base))];
      return { at: typeof before === 'string' && address.startsWith('/') ? before.replace(/\/+$/, '') + address : address };
    },
  }),
};
