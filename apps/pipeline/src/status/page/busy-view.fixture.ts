import type { WorkRow } from '@headgate/pipeline';
import { type RunHistory, runHistory } from '../run-history.ts';
import type { RunView } from '../run-view.ts';
import { ABOUT, START } from '../shown-run.fixture.ts';

export interface BusyViewOptions {
  /** Time of the view, epoch ms. Default: 2 h 14 min after the start. */
  readonly now?: number;
  /** Number of crawls. Default: 6. */
  readonly requests?: number;
  /** Properties that replace those of the view. Default: none. */
  readonly changed?: Partial<RunView>;
}

const NOW = START + 2 * 3_600_000 + 14 * 60_000;

/** The view of a run in the middle of its work, with content for every part of the page. */
export function busyView({ now = NOW, requests = 6, changed = {} }: BusyViewOptions = {}): RunView {
  const work = Array.from({ length: requests }, (_, i) => walk(i, now));
  const of = { unit: 'ids', faults: {}, records: {}, keys: { queued: 0, answered: 0 }, lastSuccessAt: now, commitTimes: TIMES };
  const quota = { pipeline: 'books', credential: 'key', budget: 'quota', unit: 'ISBNs', windowMs: 86_400_000, limit: 5_000 };
  return {
    startedAt: START,
    now,
    elapsedMs: now - START,
    lastEventAt: now,
    pipelines: {
      followers: {
        ...of,
        pageItems: 5_000,
        attempts: { ok: 412, transient: 12, 'rate-limited': 1 },
        credentials: { app: { ok: 200, transient: 12 }, reader: { ok: 212, 'rate-limited': 1 } },
        attemptTimes: TIMES,
        faults: { 503: 12, 429: 1 },
        records: { pages: 412, ids: 2_060_000 },
        walks: { started: requests, completed: 1, failed: 1 },
        pages: 412,
        items: 2_060_000,
        deadLetters: 1,
        progress: { done: 412, left: 608, isExact: true, doneAt: now + 9 * 3_600_000 },
      },
      books: {
        ...of,
        unit: 'records',
        attempts: { ok: 19 },
        credentials: { key: { ok: 19 } },
        attemptTimes: { boundsMs: [100, 1_000], counts: [7, 10, 2], sumMs: 9_250 },
        records: { records: 1_888, missing: 12 },
        walks: { started: 0, completed: 0, failed: 0 },
        pages: 0,
        items: 0,
        keys: { queued: 2_400, answered: 1_900 },
        deadLetters: 0,
        progress: { done: 19, left: 5, isExact: true, doneAt: now + 5_000 },
      },
    },
    work: [
      ...work,
      {
        kind: 'keys',
        pipeline: 'books',
        answered: 1_900,
        known: 2_400,
        isExact: true,
        records: { records: 1_888, missing: 12 },
        doing: { state: 'requesting', since: now - 200 },
      },
    ],
    budgets: [
      { ...budget('app'), used: 13, freeAt: now },
      { ...budget('reader'), used: 15, freeAt: now + 451_000 },
      { pipeline: 'books', credential: 'key', budget: 'rate', limit: 1, windowMs: 1_000, used: 1, freeAt: now + 400 },
      { ...quota, used: 3_112, freeAt: now, resetsAt: START + 14 * 3_600_000 },
    ],
    credits: [{ pipeline: 'followers', max: 20_000, used: 5_000 }],
    lanes: [
      { pipeline: 'followers', lane: 0, inWork: requests, behind: 2, isCounted: true, keys: 0 },
      { pipeline: 'books', lane: 0, inWork: 1, behind: 0, isCounted: true, keys: 500 },
    ],
    failedLanes: [],
    blockedLanes: [],
    lanesElsewhere: 0,
    deadLetters: {
      total: 1,
      byTopic: { 'followers.dead-letters': 1 },
      last: [{ at: now - 600_000, topic: 'followers.dead-letters', key: '@carol', error: PROTECTED }],
    },
    progress: { done: 431, left: 613, isExact: true, doneAt: now + 9 * 3_600_000 },
    isStarted: true,
    isStopping: false,
    isLaneLeft: false,
    isDoneHere: false,
    about: ABOUT,
    history: busyHistory(now),
    openDeadLetters: { followers: { HEADGATE_PROTECTED: 3 }, books: {} },
    ...changed,
  };
}

const TIMES = { boundsMs: [1, 2.5, 30_000], counts: [300, 112, 0, 0], sumMs: 400.5 };

const PROTECTED = {
  code: 'unauthorized',
  message: 'the account is protected (401 "Not authorized."). Only a follower of it may see this list.',
};

function budget(credential: string) {
  return { pipeline: 'followers', credential, budget: 'rate', limit: 15, windowMs: 900_000 };
}

function walk(i: number, now: number): WorkRow {
  const key = `@${['alpha', 'beta', 'carol', 'delta', 'epsilon_with_a_long_name', 'zeta'][i] ?? `user_${i}`}`;
  const of = { kind: 'walk' as const, pipeline: 'followers', lane: 0, key, request: `followers.requests-0-${i}` };
  if (i === 2) return { ...of, state: 'failed', pages: 0, items: 0, error: PROTECTED };
  if (i === 3) return { ...of, state: 'completed', pages: 1, items: 7 };
  if (i === 1) {
    const doing = { state: 'retrying', at: now + 4_000, reason: '503 Service Unavailable' } as const;
    return { ...of, state: 'working', pages: 30, items: 150_000, expected: 120, doing };
  }
  const doing = { state: 'waiting', for: 'budget', until: now + 451_000 } as const;
  return { ...of, state: 'working', pages: 412, items: 2_060_000, expected: 1_020, doing };
}

/** The history that a run's events produce, minute by minute. */
function busyHistory(now: number): RunHistory {
  let at = START;
  const past = runHistory({ epochMs: () => at, monotonicMs: () => at, schedule: () => () => undefined });
  const attempt = { type: 'attempt', pipeline: 'followers', credential: 'app', subject: '@alpha', durationMs: 120 } as const;
  for (let minute = 0; START + minute * 60_000 < now; minute += 1) {
    at = START + minute * 60_000;
    if (minute % 45 > 40)
      past.apply({ ...attempt, outcome: 'transient', status: 503, reason: '503 Service Unavailable', retryInMs: 4_000 });
    if (minute === 70) past.apply({ ...attempt, outcome: 'rate-limited', status: 429, reason: 'refused for its rate, until 11:15:00' });
    if (minute === 124)
      past.apply({ type: 'dead-letter', pipeline: 'followers', topic: 'followers.dead-letters', key: '@carol', error: PROTECTED });
  }
  return past.history();
}
