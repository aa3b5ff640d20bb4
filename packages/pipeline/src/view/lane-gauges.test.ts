import type { QueryState } from '@headgate/sources';
import { creditPool } from '@headgate/throttle';
import { expect, test } from 'vitest';
import type { SourceControls } from '../engine/processor.ts';
import { laneBacklog } from '../forecast/request-sizes.ts';
import { laneGauges } from './lane-gauges.ts';

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
    inWork: { walks: [{ offset: 0, request: 'r', key: 'k', page: 1, walk, isWriting }], keys: 0 },
    load: 1,
    expected: new Map(),
    behind: laneBacklog({ sizes: undefined as never, read: () => undefined as never, monotonicMs: () => 0 }),
    now: 1_000,
  });
  expect(work).toEqual([{ pipeline: 'shelves', lane: 0, key: 'k', request: 'r', doing }]);
});
