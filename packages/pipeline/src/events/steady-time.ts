import type { Clock } from '@headgate/throttle';

/** A clock that compensates for steps back of the wall clock. Times are epoch ms. */
export interface SteadyTime {
  /** Returns the current time. It continues even if the wall clock is set back by a second or more. */
  now(): number;
  /** Converts a time from `now` to the wall clock as it is currently set. */
  onWall(at: number): number;
}

/** Minimum step of the wall clock that is compensated, in ms. */
const STEP_MS = 1_000;

/** Creates a clock that follows the wall clock of `clock`, and compensates for steps back. */
export function steadyTime(clock: Clock): SteadyTime {
  const offset = (): number => clock.epochMs() - clock.monotonicMs();
  let last = offset();
  /** Total of the steps back of the wall clock. Steps forward don't count, because the machine may have slept. */
  let backMs = 0;
  const noteStep = (): void => {
    const current = offset();
    const stepMs = Math.round(last - current);
    if (Math.abs(stepMs) < STEP_MS) return;
    backMs += Math.max(0, stepMs);
    last = current;
  };
  return {
    now() {
      noteStep();
      return clock.epochMs() + backMs;
    },
    onWall(at) {
      noteStep();
      return at - backMs;
    },
  };
}
