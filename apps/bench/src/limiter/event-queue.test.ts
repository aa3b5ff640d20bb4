import { expect, it } from 'vitest';
import { EventQueue } from './event-queue.ts';

it('returns events in the order of their times, and of the same time in the order of insertion', () => {
  const queue = new EventQueue();
  const events = [5, 1, 3, 1, 5, 3, 1].map((atMs) => ({ atMs, callback: undefined, ofProcess: false }));
  for (const event of events) queue.push(event);
  const [five, one, three, oneAgain, fiveAgain, threeAgain, oneAtLast] = events;
  const until = (ms: number): unknown[] => [...queue.all()].map(() => queue.pop(ms)).filter((event) => event !== undefined);
  const isSame = (found: readonly unknown[], wanted: readonly unknown[]): boolean => found.every((event, i) => event === wanted[i]);
  const [early, late] = [until(3), until(Infinity)];
  expect([early.length, late.length]).toEqual([5, 2]);
  expect(isSame([...early, ...late], [one, oneAgain, oneAtLast, three, threeAgain, five, fiveAgain])).toBe(true);
});
