import type { StatusClock } from './status-clock.ts';

export interface VirtualClock extends StatusClock {
  /** Lets time pass; what is due runs in order. */
  pass(ms: number): void;
  /** How many repeating timers run. */
  readonly timers: number;
}

/** A clock that stands at 2026-03-10 10:31:04 UTC until it is told to go on. */
export function virtualClock(startAt: number = Date.UTC(2026, 2, 10, 10, 31, 4)): VirtualClock {
  let now = startAt;
  const timers = new Set<{ next: number; readonly intervalMs: number; readonly run: () => void }>();
  return {
    now: () => now,
    every(intervalMs, run) {
      const timer = { next: now + intervalMs, intervalMs, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pass(ms) {
      const end = now + ms;
      for (;;) {
        const [first] = [...timers].toSorted((one, other) => one.next - other.next);
        if (first === undefined || first.next > end) break;
        now = first.next;
        first.next += first.intervalMs;
        first.run();
      }
      now = end;
    },
    get timers() {
      return timers.size;
    },
  };
}
