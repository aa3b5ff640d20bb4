import { expect, it } from 'vitest';
import type { RunView } from './run-view.ts';
import { displayWidth } from './text/cells.ts';
import { createTimeWords } from './text/time-words.ts';
import { busyView } from './page/busy-view.fixture.ts';
import { failingLines, progressWords, rateWords, waits } from './view-words.ts';

it('a service that fails: the first line has the time of the next attempt, however narrow the terminal is', () => {
  const now = Date.UTC(2026, 0, 1, 12, 0, 0);
  const failing = {
    since: now - 3_600_000,
    attempts: 1_234,
    retryAt: now + 20_000,
    waiting: 49,
    reason: 'cannot connect to api.example.com:443: connection refused',
  };
  const view = { now, pipelines: { followers: { failing } } } as unknown as RunView;
  const lines = (width?: number): readonly string[] => failingLines(view, createTimeWords({ timeZone: 'UTC' }), width);
  const reason = '49 jobs waiting: cannot connect to api.example.com:443: connection refused';
  const said = 'followers: down since 11:00:00 (1,234 attempts), next attempt 12:00:20:';
  expect(lines()).toEqual([`${said} ${reason}`]);
  expect(lines(100)).toEqual([said, `  ${reason}`]);
  expect(lines(70)).toEqual(['followers: down since 11:00:00, next attempt 12:00:20:', `  1,234 attempts; ${reason}`]);
  expect(displayWidth(lines(70)[0] ?? '')).toBeLessThanOrEqual(70);
  expect(lines(40)[0]).toBe('followers: down, next attempt 12:00:20, since 11:00:00:');
});

it('how fast a first walk can go: a longer window is named where it permits less than shorter ones in a row', () => {
  const budget = (limit: number, windowMs: number) => ({ pipeline: 'issues', limit, windowMs });
  const words = (...budgets: readonly ReturnType<typeof budget>[]): string[] => rateWords('issues', { unit: 'issues' }, budgets);
  const [second, hour, day] = [1_000, 3_600_000, 86_400_000];
  expect(words()).toEqual([]);
  expect(words(budget(5_000, day), budget(3, second))).toEqual(['at most 3 requests a second and 5,000 requests in 1 d']);
  // Each credential has both.
  expect(words(budget(3, second), budget(5_000, day), budget(3, second), budget(5_000, day))).toEqual([
    'at most 6 requests a second and 10,000 requests in 1 d',
  ]);
  expect(words(budget(1, second), budget(3_600, hour), budget(1_000, day))).toEqual([
    'at most 1 request a second and 1,000 requests in 1 d',
  ]);
});

it('while a service fails the end is said as the time after it is back', () => {
  const times = createTimeWords({ timeZone: 'UTC' });
  const view = busyView();
  const { followers, ...others } = view.pipelines;
  if (followers === undefined) throw new Error('no followers');
  const failing = { since: view.now - 60_000, attempts: 3, reason: 'is down' };
  const down = busyView({ changed: { pipelines: { ...others, followers: { ...followers, failing } } } });
  expect(progressWords(view, times)).toMatch(/, done at \S+/u);
  expect(progressWords(down, times)).toMatch(/, done 9 h after followers is back$/u);
});

it('a run that has stopped no longer says that it stops', () => {
  const times = createTimeWords({ timeZone: 'UTC' });
  const words = (changed: Partial<RunView>): string =>
    waits(busyView({ changed }), times)
      .map((wait) => wait.words)
      .join('\n');
  expect(words({ isStopping: true })).toContain('stopping: ');
  expect(words({ isStopping: true, outcome: 'stopped' })).not.toContain('stopping');
});
