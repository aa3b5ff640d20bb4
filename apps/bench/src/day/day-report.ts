import { textTable } from '../text-table.ts';
import type { Tally } from './counting-service.ts';

export interface DayBudget {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly windows: number;
  /** How many times a real service's window is longer. */
  readonly scale: number;
}

/** What a service counted of one program. */
export interface DayResult {
  readonly program: string;
  readonly keepsJobs: boolean;
  readonly kills: number;
  readonly tally: Tally;
}

/** A table of one budget: a row for each program, a column for each window without and with kills. Every program has the same columns. */
export function dayReport({ name, windows, windowMs, scale }: DayBudget, results: readonly DayResult[]): string {
  const programs = [...new Set(results.map(({ program }) => program))];
  const of = (program: string): readonly DayResult[] => results.filter((result) => result.program === program);
  const head = ['share of the budget · 429s · made twice', ...of(programs[0] ?? '').map(column)];
  const title = `${name}: ${windows} windows of ${windowMs / 1_000} s${scale === 1 ? '' : `, 1/${scale} of the real ones`}`;
  const rows = programs.map((program) => [program, ...of(program).map(cell)]);
  return `${title}\n\n${textTable(head, rows)}`;
}

function column({ tally, kills }: DayResult): string {
  return kills === 0 ? tally.kind : `${tally.kind}, ${kills} kills`;
}

function cell({ tally, kills, keepsJobs }: DayResult): string {
  // Rounded down, so that a share never looks higher than it is.
  const share = `${(Math.floor(tally.share * 1_000) / 10).toFixed(1)} %`;
  return `${share} · ${tally.refused}${kills === 0 ? '' : ` · ${keepsJobs ? tally.twice : '–'}`}`;
}
