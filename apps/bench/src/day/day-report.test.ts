import { expect, it } from 'vitest';
import type { Tally } from './counting-service.ts';
import { type DayBudget, dayReport, type DayResult } from './day-report.ts';

const budget: DayBudget = { name: '15 per 15 min', limit: 15, windowMs: 15_000, windows: 96, scale: 60 };

function result(program: string, kind: Tally['kind'], kills: number, tally: Partial<Tally>, keepsJobs = true): DayResult {
  return { program, keepsJobs, kills, tally: { kind, driftPpm: 0, share: 1, counted: 0, refused: 0, others: 0, twice: 0, ...tally } };
}

it('has a row for each program, and a column for each window without and with kills', () => {
  const results = [
    result('one', 'wall-clock', 0, { share: 0.9999, refused: 3, twice: 5 }),
    result('other', 'wall-clock', 0, { share: 0.5 }, false),
    result('one', 'rolling', 10, { share: 0.75, twice: 4 }),
    result('other', 'rolling', 10, { share: 0.25, refused: 1, twice: 9 }, false),
  ];
  expect(dayReport(budget, results).split('\n')).toEqual([
    '15 per 15 min: 96 windows of 15 s, 1/60 of the real ones',
    '',
    '| share of the budget · 429s · made twice | wall-clock | rolling, 10 kills |',
    '| --------------------------------------- | ---------- | ----------------- |',
    '| one                                     | 99.9 % · 3 | 75.0 % · 0 · 4    |',
    '| other                                   | 50.0 % · 0 | 25.0 % · 1 · –    |',
  ]);
});

it("doesn't speak of a scale if windows are as long as the real ones", () => {
  expect(dayReport({ ...budget, name: '5 per s', windowMs: 1_000, windows: 120, scale: 1 }, [])).toContain('5 per s: 120 windows of 1 s\n');
});
