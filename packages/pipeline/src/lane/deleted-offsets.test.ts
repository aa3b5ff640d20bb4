import type { TopicPartition } from '@headgate/topics';
import { expect, it } from 'vitest';
import { endOfDeleted } from './deleted-offsets.ts';

const lane = { topic: 'shelves.requests', partition: 1, isFinished: (offset: number) => offset === 7 };
const log = (earliest: number) => ({
  offsets: (places: readonly TopicPartition[], which: string) =>
    Promise.resolve(places.map(({ topic, partition }) => (topic === lane.topic && partition === 1 && which === 'earliest' ? earliest : 0))),
});

it.each([
  { what: 'none before the earliest', earliest: 5, kept: [], end: undefined },
  { what: 'those that are neither finished nor kept in its state', earliest: 10, kept: [6], end: 10 },
  { what: 'those before kept ones', earliest: 10, kept: [8, 9], end: 10 },
  { what: 'no end marker alone behind a request that is known', earliest: 9, kept: [5, 6], end: undefined },
])('finds $what', async ({ earliest, kept, end }) => {
  expect(await endOfDeleted(log(earliest), lane, 5, new Set(kept))).toBe(end);
});
