import type { BootTime, Clock } from '../clock.ts';
import type { BudgetSnapshot } from './journal.ts';

/** Returns snapshots as a journal writes them: with the machine's start and uptime, if they are known. */
export function stampedSnapshots(snapshots: readonly BudgetSnapshot[], clock: Clock): readonly BudgetSnapshot[] {
  const boot = clock.boot?.();
  return boot === undefined ? snapshots : snapshots.map((snapshot) => ({ ...snapshot, boot }));
}

/** Node rounds the uptime down to 10 ms, so two of them can be so much further apart than the real times. */
const UPTIME_STEP_MS = 10;

/**
 * Ages snapshots by the time since they were written: by the difference in uptime if `boot` shows that the machine hasn't restarted since,
 * and otherwise by `elapsedMs`. Slots that are no longer busy stay, because a budget with a longer window may still count them. A negative
 * `elapsedMs` counts as 0.
 */
export function agedSnapshots(snapshots: readonly BudgetSnapshot[], elapsedMs: number, boot?: BootTime): BudgetSnapshot[] {
  return snapshots.map(({ name, windowMs, resets, busy, others, heldMs = 0, freedMs = 0, ageMs = 0, boot: written }) => {
    const isSameStart = written !== undefined && written.id === boot?.id && written.ms <= boot.ms;
    const gone = Math.max(0, isSameStart ? boot.ms - written.ms - UPTIME_STEP_MS : elapsedMs);
    return {
      ...(name !== undefined && { name }),
      windowMs,
      ...(resets !== undefined && { resets }),
      busy: busy.map(([ms, weight]) => [ms - gone, weight] as const),
      ...(others !== undefined && { others: others.map(([ms, weight]) => [ms - gone, weight] as const) }),
      ...(heldMs > gone && { heldMs: heldMs - gone }),
      freedMs: freedMs === null ? null : freedMs + gone,
      ageMs: ageMs + gone,
    };
  });
}
