import type { Problem } from './problem.ts';

/**
 * Formats problems in the order of the file, below the file's name: `  12:14  followers.count  must be …`. `warnings` are shown among them,
 * and marked. `messageColumn`: minimum column (0-based) at which messages start, to line up with other tables. Ends with a line feed.
 */
export function formatProblems(
  fileName: string,
  problems: readonly Problem[],
  warnings: readonly Problem[] = [],
  messageColumn = 0,
): string {
  const plain = warnings.map((warning) => ({ ...warning, message: `warning: ${warning.message}` }));
  const rows: readonly Problem[] = [...problems, ...plain].toSorted(inOrder);
  const places = placeWidth(rows);
  const start = Math.max(messageColumn, messageColumnOf(rows));
  const before = (row: Problem): string => (places === 0 ? `  ${row.key}` : `  ${place(row).padEnd(places)}  ${row.key}`);
  const lines = rows.map((row) => before(row).padEnd(start) + row.message);
  return [fileName, ...lines].join('\n') + '\n';
}

/** Compares problems by line, column and key. Problems without a position come last. */
export function inOrder(a: Problem, b: Problem): number {
  const last = Number.MAX_SAFE_INTEGER;
  return (a.line ?? last) - (b.line ?? last) || (a.column ?? last) - (b.column ?? last) || a.key.localeCompare(b.key);
}

/** A problem in one line: `headgate.yaml 12:14 followers.count: must be …`. */
export function sayProblem(fileName: string, problem: Problem): string {
  const where = [fileName, place(problem), problem.key].filter((part) => part !== '').join(' ');
  return `${where}: ${problem.message}`;
}

/** The column (0-based) at which the messages of these problems start. */
export function messageColumnOf(problems: readonly Problem[]): number {
  const keys = Math.max(0, ...problems.map((problem) => problem.key.length));
  const places = placeWidth(problems);
  return 2 + (places === 0 ? 0 : places + 2) + (keys === 0 ? 0 : keys + 3);
}

function placeWidth(problems: readonly Problem[]): number {
  return Math.max(0, ...problems.map((problem) => place(problem).length));
}

function place({ line, column }: Problem): string {
  return line === undefined ? '' : `${line}:${column ?? 1}`;
}
