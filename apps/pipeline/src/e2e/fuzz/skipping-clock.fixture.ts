import type { Clock } from '@headgate/throttle';

export interface SkippingClock extends Clock, Disposable {
  /** Something has happened that others may have yet to notice. */
  touch(): void;
}

export interface SkippingClockOptions {
  /** Whether somebody works without a timer of this clock: a socket that is read, for one. */
  readonly isBusy: () => boolean;
}

/** The clock skips time after nothing has happened for this many ms. */
const QUIET_MS = 3;
/** A lane with nothing to do looks for new jobs after these pauses. Time stops for them only if nothing else is waited for. */
const POLLS_MS = new Set([250, 500, 1_000]);

/**
 * The machine's clock, but where nobody does anything it goes on at the next timer at once: hours pass in milliseconds, while sockets and files
 * take the time that they take.
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
    // What lies in a socket is read before time goes on, however late this timer is.
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
