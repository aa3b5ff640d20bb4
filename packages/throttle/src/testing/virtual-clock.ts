import type { Clock } from '../clock.ts';
import { rangeChecks } from '../number-checks.ts';

/** A clock that moves only when a test advances it. */
export interface VirtualClock extends Clock {
  /** Advances by `ms`: fires the timers that become due, in order, and lets promises settle after each of them. */
  advance(ms: number): Promise<void>;
  /** Runs the callbacks of all settled promises, without advancing the time. */
  settle(): Promise<void>;
  /** Steps the wall clock, like a correction of the machine's clock; the monotonic clock isn't affected. */
  stepEpoch(ms: number): void;
  /** Number of timers that are set. */
  readonly pending: number;
}

/** Options of {@link virtualClock}. */
export interface VirtualClockOptions {
  /** Epoch ms at which the clock starts. Default: 2026-01-01T00:00:00Z. */
  readonly epochMs?: number;
}

/** Creates a clock for tests. */
export function virtualClock({ epochMs: start = Date.UTC(2026, 0, 1) }: VirtualClockOptions = {}): VirtualClock {
  const check = rangeChecks('virtualClock');
  check.number({ epochMs: start });
  const timers = new Set<{ readonly at: number; readonly callback: () => void }>();
  let now = 0;
  let epochOffset = start;

  return {
    monotonicMs: () => now,
    epochMs: () => now + epochOffset,
    schedule(delayMs, callback) {
      const timer = { at: now + Math.max(0, delayMs), callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      check.number({ 'the time to advance': ms }, 0);
      const end = now + ms;
      await settle();
      for (;;) {
        let next: { readonly at: number; readonly callback: () => void } | undefined;
        for (const timer of timers) if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
        if (next === undefined) break;
        timers.delete(next);
        now = Math.max(now, next.at);
        next.callback();
        await settle();
      }
      now = end;
      await settle();
    },
    settle,
    stepEpoch(ms) {
      epochOffset += ms;
    },
    get pending() {
      return timers.size;
    },
  };
}

/** Waits for one turn of the event loop, in which every promise settles that waits only for other promises. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
