import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import type { RunEvent } from '../events/events.ts';
import { RunModel } from './run-model.ts';

const NO_GAUGES = { budgets: [], credits: [], work: [], lanes: [], outages: [] };

const page: RunEvent = { type: 'page-written', pipeline: 'books', key: 'k', request: 'r', page: 1, items: 3, last: true };

it('subtracts what was written after the forecast of a stop from what is left', () => {
  const model = new RunModel(virtualClock(), []);
  model.forecast([{ pipeline: 'books', lane: 0, walks: [{ page: 1, pages: 3 }], keys: 0, keysPerRequest: 1, budgets: [] }]);
  model.apply(page);
  expect(model.snapshot(NO_GAUGES).pipelines['books']?.progress).toEqual({ done: 1, left: 2, isExact: true });
});

it('counts a request as done for each written page, and for each batch of keys with a response', () => {
  const model = new RunModel(virtualClock(), []);
  const written = (kind: 'walk' | 'keys'): RunEvent => ({ type: 'records-written', pipeline: 'books', kind, counts: { records: 3 } });
  for (const event of [page, written('walk'), written('keys'), written('keys')]) model.apply(event);
  const { books } = model.snapshot(NO_GAUGES).pipelines;
  expect([books?.progress.done, books?.records]).toEqual([3, { records: 9 }]);
});
