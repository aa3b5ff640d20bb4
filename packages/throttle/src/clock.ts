/** Where all time comes from, so that a test can be its master. */
export interface Clock {
  /** Milliseconds since some fixed instant; never steps back, even when the wall clock does. */
  monotonicMs(): number;
  /** Milliseconds since the Unix epoch. */
  epochMs(): number;
  /** Calls back once after `delayMs`, perhaps a millisecond early, as timers do: look at the clock again. Returns what cancels it. */
  schedule(delayMs: number, callback: () => void): () => void;
}

/** The longest delay `setTimeout` takes; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own clock. A wait longer than 24 days wakes early, which every caller has to expect of a timer. */
export function systemClock(): Clock {
  return {
    monotonicMs: () => performance.now(),
    epochMs: () => Date.now(),
    schedule: (delayMs, callback) => {
      const timer = setTimeout(callback, Math.min(Math.max(0, Math.ceil(delayMs)), LONGEST_TIMER_MS));
      return () => clearTimeout(timer);
    },
  };
}
