import type { BudgetSnapshot } from './journal.ts';

/** What is left of snapshots after `elapsedMs`. A wall clock that was set back makes it no longer than it was. */
export function agedSnapshots(snapshots: readonly BudgetSnapshot[], elapsedMs: number): BudgetSnapshot[] {
  const gone = Math.max(0, elapsedMs);
  return snapshots.map(({ windowMs, busy, heldMs = 0 }) => ({
    windowMs,
    busy: busy.map(([ms, weight]) => [ms - gone, weight] as const).filter(([ms]) => ms > 0),
    ...(heldMs > gone && { heldMs: heldMs - gone }),
  }));
}
