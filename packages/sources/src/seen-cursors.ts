import { hash } from 'node:crypto';

/** The cursors of one walk, remembered across restarts. */
export interface SeenCursors {
  /** Remembers a cursor's text. Returns whether it was remembered before. */
  add(cursor: string): boolean;
  /**
   * Returns a text with 8 characters per remembered cursor: 48 bits of a hash. Two of ten thousand cursors have the same hash in about one
   * of five million walks.
   */
  snapshot(): string;
}

const LENGTH = 8;
/** Maximum number of remembered cursors. Each page's checkpoint holds them all, in up to 8 kB. */
const MOST = 1_024;

/**
 * Restores the cursors of a snapshot, if there is one. Up to 1,024 cursors are all remembered. In a longer walk, only every second one is,
 * then every fourth, and so on: a loop is detected later, but the memory doesn't grow with the walk.
 */
export function seenCursors(snapshot = ''): SeenCursors {
  const [digests = '', interval = '1'] = snapshot.split('/');
  let seen = new Set(digests.match(new RegExp(`.{${LENGTH}}`, 'g')) ?? []);
  let text = digests;
  let every = Number(interval);
  let toSkip = 0;
  const thinOut = (): void => {
    if (seen.size <= MOST) return;
    while (seen.size > MOST) {
      seen = new Set([...seen].filter((_, i) => i % 2 === 0));
      every *= 2;
    }
    text = [...seen].join('');
  };
  thinOut();
  return {
    add(cursor) {
      const one = hash('sha256', cursor, 'base64url').slice(0, LENGTH);
      const comesAgain = seen.has(one);
      toSkip -= 1;
      if (toSkip >= 0) return comesAgain;
      if (!comesAgain) {
        seen.add(one);
        text += one;
        thinOut();
      }
      toSkip = every - 1;
      return comesAgain;
    },
    snapshot: () => text + (every === 1 ? '' : `/${every}`),
  };
}
