import type { StopDeadline } from '@headgate/pipeline';

/** Times (ms after the first signal) at which a stop gives up writing and closing. */
const WRITTEN_MS = 8_000;
const CLOSED_MS = 9_000;
/** Time (ms after the first signal) at which the process ends even if it hangs. Committed data is safe. */
const EXIT_MS = 9_500;
/** Further signals within this time (ms) are ignored, because a terminal and npm can each send the same one. */
const SAME_SIGNAL_MS = 1_000;

/** A stop by signals, from the first one to the end of the process. */
export interface Stop {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  readonly deadline: StopDeadline;
  /** Handles a signal. The first one asks to stop. A later one ends the process, unless it comes within `SAME_SIGNAL_MS` of the first. */
  onSignal(name: string): void;
}

/**
 * `now`: milliseconds of a clock that only runs forward. `schedule` calls a function after some milliseconds, and must not keep the process
 * alive. `exit` ends the process at once.
 */
export function createStop(now: () => number, schedule: (ms: number, call: () => void) => void, exit: (code: number) => void): Stop {
  const [requested, written, closed] = [new AbortController(), new AbortController(), new AbortController()];
  let requestedAt = 0;
  return {
    signal: requested.signal,
    deadline: { written: written.signal, closed: closed.signal },
    onSignal(name) {
      if (!requested.signal.aborted) {
        requestedAt = now();
        schedule(WRITTEN_MS, () => written.abort());
        schedule(CLOSED_MS, () => closed.abort());
        schedule(EXIT_MS, () => exit(130));
        requested.abort(new Error(`stopped by ${name}`));
      } else if (now() - requestedAt > SAME_SIGNAL_MS) exit(130);
    },
  };
}
