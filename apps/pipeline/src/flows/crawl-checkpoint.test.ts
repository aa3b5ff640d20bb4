import { boundaryDuplicates } from '@headgate/operators';
import { expect, test } from 'vitest';
import type { CrawlCheckpoint } from './crawl-checkpoint.ts';
import { seenCursors } from './seen-cursors.ts';

test('a checkpoint has 40 kB at most, however long the crawl: the state takes 64 kB at the least', () => {
  const cursor = `-${'9'.repeat(20)}`;
  const boundary = boundaryDuplicates();
  boundary.apply({ ids: Array.from({ length: 5_000 }, () => '9'.repeat(20)) });
  const seen = seenCursors();
  let largest = 0;
  for (let page = 1; page <= 20_000; page += 1) {
    seen.add(String(page));
    largest = Math.max(largest, seen.snapshot().length);
  }
  const user = 'u'.repeat(50);
  const rest: CrawlCheckpoint = {
    user: `@${user}`,
    cursor,
    page: Number.MAX_SAFE_INTEGER,
    ids: Number.MAX_SAFE_INTEGER,
    pagesFrom: Number.MAX_SAFE_INTEGER,
    empty: Number.MAX_SAFE_INTEGER,
    boundary: boundary.state(),
    wish: { screenName: user, cursor, count: 5_000 },
  };
  expect(JSON.stringify({ ...rest, seen: '' }).length + largest).toBeLessThan(40_000);
});
