import { expect, it } from 'vitest';
import { busyView } from './page/busy-view.fixture.ts';
import type { RunView } from './run-view.ts';
import { screenOf } from './screen.ts';
import { createTimeWords } from './text/time-words.ts';

const times = createTimeWords({ timeZone: 'UTC' });
const busy = busyView();
const { now } = busy;

/** Every crawl waits for the two budgets of followers; books has nothing to do. */
function waiting(windowMs: number): Partial<RunView> {
  const budgets = busy.budgets.filter(({ pipeline }) => pipeline === 'followers');
  return {
    work: busy.work.filter((row) => row.kind === 'walk' && row.doing?.state !== 'retrying'),
    budgets: budgets.map((one, i) => ({ ...one, windowMs, used: 15, freeAt: now + 451_000 - i * 1_000 })),
  };
}

/** Adds the keys of books, which continue at one request a second. */
function besidePaced({ work = [], budgets = [] }: Partial<RunView>): Partial<RunView> {
  const keys = busy.work.flatMap((row) => (row.kind === 'keys' ? [{ ...row, doing: { state: 'waiting', for: 'budget' } as const }] : []));
  const rate = { pipeline: 'books', credential: 'key', budget: 'rate', limit: 1, windowMs: 1_000, used: 1, freeAt: now + 400 };
  return { work: [...work, ...keys], budgets: [...budgets, rate] };
}

const failing = { ...busy.pipelines['followers'], failing: { since: now - 62_000, attempts: 9, reason: 'connection refused' } };
const failed = [{ pipeline: 'followers', lane: 1, reason: 'its token is invalid' }];
const unavailable = { type: 'log-unavailable', driver: 'kafka', reason: 'no broker', since: now } as const;
const noDeadLetters = { total: 0, byTopic: {}, last: [] };

it.each<[words: string, tone: string | undefined, changed: Partial<RunView>]>([
  ['running', 'good', {}],
  ['starting', undefined, { isStarted: false, work: [] }],
  ['waiting until 12:21:30', 'wait', waiting(900_000)],
  // Waits for a short window are part of normal work.
  ['running', 'good', waiting(1_000)],
  ['running', 'good', besidePaced(waiting(900_000))],
  ['degraded: followers is down since 12:12:58', 'bad', { pipelines: { followers: failing as RunView['pipelines'][string] } }],
  ["degraded: kafka can't be reached", 'bad', { logUnavailable: unavailable }],
  ["degraded: followers lane 1 can't continue, and 1 more", 'bad', { failedLanes: failed, logUnavailable: unavailable }],
  ['degraded: jobs of followers lane 0 are blocked', 'wait', { blockedLanes: [{ pipeline: 'followers', lane: 0, offset: 1, since: now }] }],
  [
    'idle: nothing left to do',
    undefined,
    { work: [], lastEventAt: 0, lanes: [{ pipeline: 'followers', lane: 0, inWork: 0, behind: 0, isCounted: true, keys: 0 }] },
  ],
  ['standing by', undefined, { work: [], lastEventAt: 0, lanes: [] }],
  ['stopping', 'wait', { isStopping: true, failedLanes: failed }],
  ['stopped', undefined, { isStopping: true, outcome: 'stopped' }],
  ['failed', 'bad', { outcome: 'failed' }],
  ['done', 'good', { outcome: 'done', deadLetters: noDeadLetters }],
  ['done, with 1 dead letter', 'wait', { outcome: 'done' }],
])('is %s', (words, tone, changed) => {
  expect(screenOf(busyView({ changed }), { times, commandFor: () => '', jobs: { text: '', state: 'all', most: 25 } }).state).toEqual({
    kind: words.split(/[ :,]/u, 1)[0]?.replace('standing', 'idle'),
    words,
    ...(tone && { tone }),
  });
});
