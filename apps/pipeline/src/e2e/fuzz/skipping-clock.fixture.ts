import type { Clock } from '@headgate/throttle';

export interface SkippingClock extends Clock, Disposable {
  /** Call after an event that other code still has to notice. The clock then waits before it skips time. */
  touch(): void;
}

export interface SkippingClockOptions {
  /** Whether code works or waits without a timer of this clock, such as for a socket. */
  readonly isBusy: () => boolean;
}

/** The clock skips time after nothing has happened for this many ms. */
const QUIET_MS = 3;
/** Delays of timers that poll. The clock skips to such a timer only if there is no other one. */
const POLLS_MS = new Set([250, 500, 1_000]);

/**
 * The machine's clock, except that it skips to the next timer when nothing is busy. Hours pass in milliseconds, but sockets and files take
 * their real time.
 */
export function skippingClock({ isBusy }: SkippingClockOptions): SkippingClock {
  const timers = new Map<object, { readonly at: number; readonly isPoll: boolean; readonly run: () => void }>();
  const epoch = Date.now() - performance.now();
  let skipped = 0;
  let touched = performance.now();
  const now = (): number => performance.now() + skipped;
  const touch = (): void => void (touched = performance.now());

  const runDue = (): void => {
    const due = [...timers].filter(([, { at }]) => at <= now()).toSorted(([, one], [, other]) => one.at - other.at);
    for (const [timer, { run }] of due) {
      if (!timers.delete(timer)) continue;
      touch();
      run();
    }
  };
  const skip = (): void => {
    const all = [...timers.values()];
    const others = all.filter(({ isPoll }) => !isPoll);
    const next = Math.min(...(others.length > 0 ? others : all).map(({ at }) => at));
    if (next < Infinity && !isBusy()) skipped += Math.max(0, next - now());
    runDue();
  };
  const look = setInterval(() => {
    runDue();
    const before = touched;
    if (performance.now() - before < QUIET_MS) return;
    // Sockets are read before time is skipped, even if this timer is late.
    setImmediate(() => setImmediate(() => (before === touched ? skip() : undefined)));
  }, 1);

  return {
    monotonicMs: now,
    epochMs: () => Math.floor(epoch + now()),
    schedule(delayMs, run) {
      touch();
      const timer = {};
      timers.set(timer, { at: now() + Math.max(0, delayMs), isPoll: POLLS_MS.has(delayMs), run });
      return () => timers.delete(timer);
    },
    touch,
    [Symbol.dispose]: () => clearInterval(look),
  };
}
