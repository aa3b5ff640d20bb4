import type { BudgetSnapshot } from './journal.ts';

/**
 * Ages snapshots by `elapsedMs`. Slots that are no longer busy stay, because they may be busy for a longer window. A wall clock that was
 * set back lengthens nothing.
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
