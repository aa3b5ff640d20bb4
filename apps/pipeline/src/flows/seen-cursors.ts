import { createHash } from 'node:crypto';

/** The cursors of one crawl, remembered over restarts. */
export interface SeenCursors {
  has(cursor: string): boolean;
  add(cursor: string): void;
  /** All of them as text, 8 characters each: 48 bits of a hash, which two of ten thousand cursors share once in five million crawls. */
  snapshot(): string;
}

const LENGTH = 8;

/** Remembers what the snapshot did; nothing without one. */
export function seenCursors(snapshot = ''): SeenCursors {
  const seen = new Set(snapshot.match(new RegExp(`.{${LENGTH}}`, 'g')) ?? []);
  return {
    has: (cursor) => seen.has(digest(cursor)),
    add: (cursor) => void seen.add(digest(cursor)),
    snapshot: () => [...seen].join(''),
  };
}

function digest(cursor: string): string {
  return createHash('sha256').update(cursor).digest('base64url').slice(0, LENGTH);
}
