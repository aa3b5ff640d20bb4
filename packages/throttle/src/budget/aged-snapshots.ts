import type { BudgetSnapshot } from './journal.ts';

/**
 * How snapshots stand after `elapsedMs`. What is no longer busy stays: it may be for a longer window.
 * A wall clock that was set back makes nothing longer than it was.
 */
export function agedSnapshots(snapshots: readonly BudgetSnapshot[], elapsedMs: number): BudgetSnapshot[] {
  const gone = Math.max(0, elapsedMs);
  return snapshots.map(({ name, windowMs, busy, others, heldMs = 0, freedMs = 0 }) => ({
    ...(name !== undefined && { name }),
    windowMs,
    busy: busy.map(([ms, weight]) => [ms - gone, weight] as const),
    ...(others !== undefined && { others: others.map(([ms, weight]) => [ms - gone, weight] as const) }),
    ...(heldMs > gone && { heldMs: heldMs - gone }),
    freedMs: freedMs === null ? null : freedMs + gone,
  }));
}
