import { describe, expect, it } from 'vitest';
import { lanesWords } from './lane-words.ts';
import type { HeldLane } from './held-lanes.ts';

function words(followers: readonly number[], books: readonly number[], lanesShared = true): string {
  const lanes: HeldLane[] = [
    ...followers.map((lane) => ({ service: 'followers' as const, lane })),
    ...books.map((lane) => ({ service: 'books' as const, lane })),
  ];
  return lanesWords({ lanes, lanesShared });
}

describe('the lanes held, in words', () => {
  it.each([
    [[0, 1, 2, 3], [], 'lanes 0 1 2 3'],
    [[2], [], 'lanes 2'],
    [[0, 1], [0, 1], 'lanes 0 1'],
    [[0, 1], [0], 'lanes followers 0 1, books 0'],
    [[], [0, 2], 'lanes books 0 2'],
    [[0, 2, 3, 4, 5, 6, 8], [], 'lanes 0 2 to 6 8'],
    [[], [], 'no lane'],
  ])('%j and %j: %s', (followers, books, said) => {
    expect(words(followers, books)).toBe(said);
  });

  it("is nothing where lanes are nobody's concern", () => {
    expect(words([0], [0], false)).toBe('');
  });
});
