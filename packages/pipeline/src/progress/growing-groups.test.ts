import { expect, it } from 'vitest';
import { growingGroups } from './growing-groups.ts';

it('includes the groups that growing groups make, even in a circle, and no group above', () => {
  const groups = { of: String, makes: { roots: ['a'], a: ['b'], b: ['c'], c: ['a'], other: [] } };
  const growing = (...left: string[]): string[] => [...growingGroups(groups, (name) => left.includes(name))];
  expect([growing(), growing('roots'), growing('c'), growing('other')]).toEqual([[], ['a', 'b', 'c'], ['a', 'b', 'c'], []]);
});
