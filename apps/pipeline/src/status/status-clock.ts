/** The time displays go by. */
export interface StatusClock {
  /** Epoch ms. */
  now(): number;
  /** Runs something every `intervalMs`, until the function it returns is called. */
  every(intervalMs: number, run: () => void): () => void;
}

/** The machine's clock; its timers keep no process alive. */
export function systemStatusClock(): StatusClock {
  return {
    now: () => Date.now(),
    every(intervalMs, run) {
      const timer = setInterval(run, intervalMs);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}
