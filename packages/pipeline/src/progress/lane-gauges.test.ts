import type { QueryState } from '@headgate/sources';
import { creditPool } from '@headgate/throttle';
import { expect, test } from 'vitest';
import type { SourceControls } from '../definition/processor.ts';
import { laneBacklog } from './request-sizes.ts';
import { laneGauges, laneWork } from './lane-gauges.ts';

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
  const { work } = laneGauges({
    pipeline: 'shelves',
    lane: 0,
    sources: [source],
    credits: creditPool({ max: 1 }),
    inWork: { walks: [{ kind: 'walk', offset: 0, request: 'r', key: 'k', page: 1, walk, isWriting }], keys: 0, after: undefined },
    load: 1,
    expected: new Map(),
    behind: laneBacklog({ sizes: undefined as never, read: () => undefined as never, monotonicMs: () => 0 }),
    now: 1_000,
  });
  expect(work).toEqual([{ pipeline: 'shelves', lane: 0, key: 'k', request: 'r', doing }]);
});

test('a job that waits for the active walk of its key has no gauge, counts as not started, and its pages follow those of the active walks', () => {
  const job = { kind: 'walk' as const, request: 'r', key: 'k', page: 1, isWriting: false };
  const options = {
    pipeline: 'shelves',
    lane: 0,
    sources: [],
    inWork: {
      walks: [
        { ...job, offset: 0, walk: {} },
        { ...job, offset: 1 },
        { ...job, offset: 2, page: 3 },
        { ...job, offset: 3 },
      ],
      keys: 0,
      after: undefined,
    },
    expected: new Map([
      [0, 5],
      [1, 5],
      [2, 5],
    ]),
    behind: laneBacklog({ sizes: undefined as never, read: () => undefined as never, monotonicMs: () => 0 }),
  };
  const { work, lanes } = laneGauges({ ...options, credits: creditPool({ max: 1 }), load: 4, now: 0 });
  expect([work.length, lanes]).toMatchObject([1, [{ inWork: 1, behind: 3 }]]);
  expect(laneWork(options)).toMatchObject({
    walks: [{ page: 1, pages: 5 }],
    behind: { walks: 3, unknown: 1, pages: 8 },
  });
});
