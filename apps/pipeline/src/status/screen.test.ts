import { describe, expect, it } from 'vitest';
import type { RunView } from './run-view.ts';
import { createTimeWords } from './text/time-words.ts';
import { busyView } from './page/busy-view.fixture.ts';
import { firstRows, progressWords, rateWords } from './format-row.ts';
import { liveFrame } from './live-display.ts';
import { type Screen, screenOf } from './screen.ts';

const times = createTimeWords({ timeZone: 'UTC' });
const screen = (changed: Partial<RunView>): Screen =>
  screenOf(busyView({ changed }), {
    times,
    commandFor: (command, topic) => `${command} ${topic}`,
    jobs: { text: '', state: 'all', most: 25 },
  });

it('the line of an outage starts with its duration and the next attempt, because a narrow terminal cuts its end', () => {
  const { now, pipelines } = busyView();
  const failing = {
    since: now - 3_600_000,
    attempts: 1_234,
    retryAt: now + 20_000,
    waiting: 49,
    reason: 'cannot connect to api.example.com:443: connection refused',
  };
  const followers = { ...pipelines['followers'], failing } as RunView['pipelines'][string];
  const logUnavailable = { type: 'log-unavailable', driver: 'kafka', reason: 'no broker', since: now - 80_000 } as const;
  const { faults, state } = screen({ pipelines: { ...pipelines, followers }, logUnavailable });
  expect(faults.map(({ words }) => words)).toEqual([
    "kafka can't be reached since 12:12:40, for 1 m 20 s: nothing is lost; continues automatically (no broker)",
    'followers: down since 11:14:00, next attempt 12:14:20 (1,234 attempts, 49 jobs waiting): cannot connect to api.example.com:443: connection refused',
  ]);
  expect(state.words).toBe("degraded: kafka can't be reached, and 1 more");
  const frame = liveFrame({
    header: 'headgate run',
    view: busyView({ changed: { pipelines: { ...pipelines, followers } } }),
    columns: 59,
    rows: 23,
    color: false,
    times,
    commandFor: () => '',
  });
  expect(frame.join('\n')).toContain('followers: down since 11:14:00, next attempt 12:14:20');
});

it('at 60 columns a row keeps the end of its wait and drops its numbers', () => {
  const { work } = busyView();
  const [first, ...others] = work;
  const doing = { state: 'waiting', for: 'budget', until: busyView().now + 60_000 } as const;
  const view = busyView({ changed: { work: [{ ...first, doing } as (typeof work)[number], ...others] } });
  const frame = (columns: number): string =>
    liveFrame({ header: '', view, columns, rows: 23, color: false, times, commandFor: () => '' }).join('\n');
  expect(frame(59)).toMatch(/^ {2}@alpha .*waits for budget until 12:15:00$/mu);
  expect(frame(99)).toMatch(/^ {2}@alpha .* pages .* ids .*waits for budget until 12:15:00$/mu);
});

it('the jobs in progress come first, and the others are counted', () => {
  const view = busyView({ requests: 30 });
  const { jobs } = screenOf(view, { times, commandFor: () => '', jobs: { text: '', state: 'all', most: 10 } });
  expect(jobs.rows.map(({ state }) => state)).toEqual(Array.from({ length: 10 }, () => 'working'));
  expect(jobs.others).toEqual({ working: 19, failed: 1, done: 1, waiting: 2 });
  expect(firstRows(jobs, 5)).toMatchObject({
    rows: { length: 4 },
    rest: 'and 29 more: 25 working, 1 failed, 1 done, 2 waiting for their turn',
  });
  expect(firstRows({ rows: jobs.rows.slice(0, 5), others: { working: 0, failed: 0, done: 0, waiting: 0 } }, 5)).toMatchObject({
    rows: { length: 5 },
    rest: '',
  });
});

it('the rate of a first crawl names a longer window if it permits less than the shorter ones in a row', () => {
  const budget = (limit: number, windowMs: number) => ({ pipeline: 'issues', limit, windowMs });
  const words = (...budgets: readonly ReturnType<typeof budget>[]): string[] => rateWords('issues', { unit: 'issues' }, budgets);
  const [second, hour, day] = [1_000, 3_600_000, 86_400_000];
  expect(words()).toEqual([]);
  expect(words(budget(5_000, day), budget(3, second))).toEqual(['at most 3 requests a second and 5,000 requests in 1 d']);
  // Each of two credentials has both budgets.
  expect(words(budget(3, second), budget(5_000, day), budget(3, second), budget(5_000, day))).toEqual([
    'at most 6 requests a second and 10,000 requests in 1 d',
  ]);
  expect(words(budget(1, second), budget(3_600, hour), budget(1_000, day))).toEqual([
    'at most 1 request a second and 1,000 requests in 1 d',
  ]);
});

it('while a service fails, the finish time is a duration after its return', () => {
  const view = busyView();
  const { followers, ...others } = view.pipelines;
  if (followers === undefined) throw new Error('no followers');
  const failing = { since: view.now - 60_000, attempts: 3, reason: 'is down' };
  const down = busyView({ changed: { pipelines: { ...others, followers: { ...followers, failing } } } });
  expect(progressWords(view, times)).toMatch(/, done at \S+/u);
  expect(progressWords(down, times)).toMatch(/, done 9 h after followers is back$/u);
});

describe('with unknown sizes', () => {
  const words = (doneInMs: number | undefined, changed: Partial<RunView> = {}): string => {
    const view = busyView({ changed });
    const { now } = view;
    const progress = { done: 412, left: 608, isExact: false, ...(doneInMs !== undefined && { doneAt: now + doneInMs }) };
    return progressWords({ ...view, progress }, times);
  };

  it('the finish time is a minimum, as in a plan', () => {
    const { now } = busyView();
    expect(words(60_000)).toContain(`412 requests done, at least 608 left, done at ${times.when(now + 60_000, now)} or later`);
  });

  it('the finish time is said to be unknown if even the minimum is', () => {
    expect(words(undefined)).toContain('412 requests done, at least 608 left, finish time not known yet');
    expect(words(999)).toContain('left, finish time not known yet');
    expect(words(1_000)).toContain(' or later');
  });

  it('the minimum counts from the return of a service that is down', () => {
    const view = busyView();
    const { followers } = view.pipelines;
    if (followers === undefined) throw new Error('no followers');
    const failing = { since: view.now - 60_000, attempts: 3, reason: 'is down' };
    expect(words(60_000, { pipelines: { followers: { ...followers, failing } } })).toContain(
      'at least 608 left, done 1 m after followers is back or later',
    );
  });
});

it('a run that has stopped no longer says that it is stopping', () => {
  const words = (changed: Partial<RunView>): readonly string[] => screen(changed).notes.map((note) => note.words);
  expect(words({ isStopping: true })).toEqual([expect.stringMatching(/^stopping: /u)]);
  expect(words({ isStopping: true, outcome: 'stopped' })).toEqual([]);
});
