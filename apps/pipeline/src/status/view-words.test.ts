import { expect, it } from 'vitest';
import type { RunView } from './run-view.ts';
import { displayWidth } from './text/cells.ts';
import { createTimeWords } from './text/time-words.ts';
import { failingLines } from './view-words.ts';

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
  const reason = '49 requests wait for this: cannot connect to api.example.com:443: connection refused';
  const said = 'followers: no attempt has succeeded since 11:00:00 (1,234 attempts), again at 12:00:20:';
  expect(lines()).toEqual([`${said} ${reason}`]);
  expect(lines(100)).toEqual([said, `  ${reason}`]);
  // Two cells of 80 are the margin.
  expect(lines(78)).toEqual(['followers: fails since 11:00:00, again at 12:00:20:', `  1,234 attempts; ${reason}`]);
  expect(displayWidth(lines(78)[0] ?? '')).toBeLessThanOrEqual(78);
  expect(lines(40)[0]).toBe('followers: fails, again at 12:00:20, since 11:00:00:');
});
