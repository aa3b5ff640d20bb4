import type { QueryState } from '@headgate/sources';
import { creditPool } from '@headgate/throttle';
import { expect, test } from 'vitest';
import type { Job, SourceControls } from '../definition/processor.ts';
import { LaneBacklog } from './job-sizes.ts';
import { type LaneView, laneGauges, laneWork } from './lane-gauges.ts';

/** A lane with these jobs, and none ahead. */
function view(jobs: readonly Pick<Job, 'doing' | 'expected'>[], sources: readonly SourceControls[] = []): LaneView {
  const backlog = new LaneBacklog(undefined as never, undefined as never, { monotonicMs: () => 0 });
  const all = new Map(jobs.map((job, i) => [i, job as Job]));
  return {
    pipeline: { name: 'shelves', groups: undefined },
    lane: 0,
    sources,
    credits: creditPool({ max: 1 }),
    jobs: { size: all.size, [Symbol.iterator]: () => all.values() },
    backlog,
  };
}

const waiting: QueryState = { state: 'queued', for: 'budget', until: 2_000 };

test.each<[string, boolean, QueryState | undefined, unknown]>([
  ['waits for its next page', false, waiting, { state: 'waiting', for: 'budget', until: 2_000 }],
  ['is written while the next page waits', true, waiting, { state: 'writing' }],
  [
    'is written while the next page is requested',
    true,
    { state: 'requesting', credential: 'one', since: 900 },
    { state: 'requesting', since: 900 },
  ],
  ['has no query', false, undefined, { state: 'writing' }],
])('a walk that %s', (_, isWriting, state, doing) => {
  const walk = {};
  const queries = state === undefined ? [] : [{ id: walk, subject: 'items', weights: { rate: 1 }, ...state }];
  const source = { gauges: () => ({ budgets: [], queries }) } as unknown as SourceControls;
  const job = { doing: { kind: 'walk' as const, request: 'r', key: 'k', page: 1, walk, isWriting } };
  const { work } = laneGauges(view([job], [source]), 1_000);
  expect(work).toEqual([{ pipeline: 'shelves', lane: 0, key: 'k', request: 'r', doing }]);
});

test('a job that waits for the active walk of its key has no gauge, counts as not started, and its pages follow those of the active walks', () => {
  const job = { kind: 'walk' as const, request: 'r', key: 'k', page: 1, isWriting: false };
  const lane = view([
    { doing: { ...job, walk: {} }, expected: 5 },
    { doing: job, expected: 5 },
    { doing: { ...job, page: 3 }, expected: 5 },
    { doing: job },
  ]);
  const { work, lanes } = laneGauges(lane, 0);
  expect([work.length, lanes]).toMatchObject([1, [{ inWork: 1, behind: 3 }]]);
  expect(laneWork(lane)).toMatchObject({
    walks: [{ page: 1, pages: 5 }],
    behind: { walks: 3, unknown: 1, pages: 8 },
  });
});
