import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FakeCluster } from '../client/fake-cluster.fixture.ts';
import { ReadYourWrites } from './read-your-writes.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => vi.useRealTimers());

/** A cluster whose partition has these last stable offsets, each from `fromMs` on. A request takes 300 ms. */
function showing(...offsets: readonly (readonly [fromMs: number, offset: number])[]): FakeCluster {
  const startedMs = performance.now();
  return new FakeCluster(() => {
    vi.advanceTimersByTime(300);
    const [, offset = 0] = offsets.findLast(([fromMs]) => performance.now() - startedMs >= fromMs) ?? [];
    return { answer: new Map([['pages-0', offset]]) };
  });
}

async function stableOffset(cluster: FakeCluster): Promise<number | undefined> {
  const log = new ReadYourWrites();
  // The records of one transaction, with another client's record between them.
  const placed = [
    { first: 5, count: 1 },
    { first: 7, count: 2 },
  ];
  log.committed(new Map([['pages-0', placed]]));
  return (await log.stableOffsets(cluster, 'pages', [0])).get(0);
}

it.each([
  {
    what: 'waits until our transaction has ended, however long its end marker takes',
    shown: [
      [0, 5],
      [5_000, 10],
    ],
    stable: 10,
  },
  {
    what: 'waits for the second record, too',
    shown: [
      [0, 5],
      [2_000, 7],
      [5_000, 9],
    ],
    stable: 9,
  },
  {
    what: 'gives up on an end that never comes',
    shown: [
      [0, 5],
      [15_000, 10],
    ],
    stable: 5,
  },
  {
    what: "waits only a second for another producer's transaction in front of ours",
    shown: [
      [0, 3],
      [5_000, 10],
    ],
    stable: 3,
  },
  {
    what: 'waits that second',
    shown: [
      [0, 3],
      [800, 10],
    ],
    stable: 10,
  },
] as const)('a reader $what', async ({ shown, stable }) => {
  expect(await stableOffset(showing(...shown))).toBe(stable);
});

it('a reader of partitions in which this log has written nothing does not wait', async () => {
  expect(await new ReadYourWrites().stableOffsets(showing([0, 3]), 'pages', [0])).toEqual(new Map([[0, 3]]));
});
