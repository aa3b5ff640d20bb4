import type { Clock } from '../clock.ts';

/** A clock that moves only when a test advances it. */
export interface VirtualClock extends Clock {
  /** Advances by `ms`: fires what becomes due, in order, and lets promises settle after each. */
  advance(ms: number): Promise<void>;
  /** Lets all settled promises run, without advancing the time. */
  settle(): Promise<void>;
  /** Steps the wall clock, like a correction of the machine's clock; the monotonic clock isn't affected. */
  stepEpoch(ms: number): void;
  /** Timers that have not fired. */
  readonly pending: number;
}

/** Options of {@link virtualClock}. */
export interface VirtualClockOptions {
  /** Default 2026-01-01T00:00:00Z, in ms since the epoch. */
  readonly epochMs?: number;
}

/** Creates a clock for tests. */
export function virtualClock({ epochMs: start = Date.UTC(2026, 0, 1) }: VirtualClockOptions = {}): VirtualClock {
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

/** One turn of the event loop: every promise that can settle has done so. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
