import { expect } from 'vitest';
import { recordSchemas } from '../records/index.ts';

/** Returns `count` consecutive IDs, starting at 2^60 + `from`. */
export function exactIds({ from, count }: { readonly from: number; readonly count: number }): string[] {
  return Array.from({ length: count }, (_, i) => String(2n ** 60n + BigInt(from + i)));
}

/** Expects `values` of `followers.changes` to be the differences of two crawls, each once, with new followers first in the order of `after`. */
export function expectChanges(
  values: readonly unknown[],
  { before, after }: { before: readonly string[]; after: readonly string[] },
): void {
  const changes = values.map((value) => recordSchemas['followers.changes'].parse(value));
  const had = new Set(before);
  const has = new Set(after);
  const followed = after.filter((id) => !had.has(id));
  expect(changes.slice(0, followed.length).map(({ change, id }) => `${change} ${id}`)).toEqual(followed.map((id) => `followed ${id}`));
  expect(
    changes
      .slice(followed.length)
      .map(({ change, id }) => `${change} ${id}`)
      .toSorted(),
  ).toEqual(
    before
      .filter((id) => !has.has(id))
      .map((id) => `unfollowed ${id}`)
      .toSorted(),
  );
}
