import { expect, it } from 'vitest';
import { deletedOffsets } from './deleted-offsets.ts';

const lane = { topic: 'shelves.requests', partition: 1, next: 5, hasState: true, isFinished: (offset: number) => offset === 7 };
const log = (earliest: number) => ({
  listTopics: () =>
    Promise.resolve([{ name: lane.topic, partitions: 2, offsets: [0, earliest].map((first) => ({ earliest: first, end: 100 })) }]),
});

it.each([
  { what: 'none before the earliest', earliest: 5, more: {}, kept: [], deleted: undefined },
  { what: 'those that are neither finished nor kept in its state', earliest: 10, more: {}, kept: [6], deleted: { count: 2, before: 10 } },
  { what: 'no end marker alone behind a request that is known', earliest: 9, more: {}, kept: [5, 6], deleted: { count: 0, before: 9 } },
  { what: 'none for a lane that begins', earliest: 10, more: { hasState: false, next: 0 }, kept: [], deleted: undefined },
])('counts $what', async ({ earliest, more, kept, deleted }) => {
  expect(await deletedOffsets(log(earliest), { ...lane, ...more }, new Set(kept))).toEqual(deleted);
});
