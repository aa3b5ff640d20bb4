/** Tells the time and sets timers. Tests can replace it. */
export interface Clock {
  /** Milliseconds since some fixed instant; never steps back, even when the wall clock does. */
  monotonicMs(): number;
  /** Milliseconds since the Unix epoch. */
  epochMs(): number;
  /**
   * Calls back once after `delayMs`. A timer can fire early, so check the clock in the callback. Returns a function that cancels the timer.
   */
  schedule(delayMs: number, callback: () => void): () => void;
  /** Returns the machine's start and the time since then, which corrections of the wall clock don't change. Undefined if unknown. */
  boot?(): BootTime | undefined;
}

/** A start of the machine, and the time since then. */
export interface BootTime {
  /** Identifies the start. */
  readonly id: string;
  /** Ms since the start, suspended time included. */
  readonly ms: number;
}

/** Maximum delay of `setTimeout`, in ms. Node replaces a longer one by 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Returns the machine's own clock. Its timers fire after at most 2^31 - 1 ms (about 25 days), even if the delay is longer. */
export function systemClock(): Clock {
  return {
    monotonicMs: () => performance.now(),
    epochMs: () => Date.now(),
    boot: bootTime,
    schedule: (delayMs, callback) => {
      const timer = setTimeout(callback, Math.min(Math.max(0, Math.ceil(delayMs)), LONGEST_TIMER_MS));
      return () => clearTimeout(timer);
    },
  };
}

/** ID of the machine's start. Read once, because a process doesn't outlive it. */
let bootId: string | undefined;

/** Reads the ID of the machine's start from a file that only Linux has. Returns undefined if that fails. */
function bootTime(): BootTime | undefined {
  try {
    bootId ??= process.getBuiltinModule('node:fs').readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return { id: bootId, ms: process.getBuiltinModule('node:os').uptime() * 1_000 };
  } catch {
    return undefined;
  }
}
