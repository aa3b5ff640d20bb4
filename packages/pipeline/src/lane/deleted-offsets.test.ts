import { expect, it } from 'vitest';
import { deletedOffsets } from './deleted-offsets.ts';

const lane = { topic: 'shelves.requests', partition: 1, from: 5, isFinished: (offset: number) => offset === 7 };
const log = (earliest: number) => ({
  listTopics: () =>
    Promise.resolve([{ name: lane.topic, partitions: 2, offsets: [0, earliest].map((first) => ({ earliest: first, end: 100 })) }]),
});

it.each([
  { what: 'none before the earliest', earliest: 5, kept: [], deleted: undefined },
  { what: 'those that are neither finished nor kept in its state', earliest: 10, kept: [6], deleted: { count: 2, last: 9 } },
  { what: 'none after the last of them', earliest: 10, kept: [8, 9], deleted: { count: 2, last: 6 } },
  { what: 'no end marker alone behind a request that is known', earliest: 9, kept: [5, 6], deleted: { count: 0, last: 8 } },
])('counts $what', async ({ earliest, kept, deleted }) => {
  expect(await deletedOffsets(log(earliest), { ...lane, kept: new Set(kept) })).toEqual(deleted);
});
