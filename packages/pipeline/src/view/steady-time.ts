import type { Clock } from '@headgate/throttle';

/** Times of a run that stay in order and keep their distance from now if the wall clock is set back. Epoch ms. */
export interface SteadyTime {
  /** The current time; never earlier than before. */
  now(): number;
  /** Converts a time of `now` to today's wall clock. */
  onWall(at: number): number;
}

/** Smaller corrections don't matter. */
const STEP_MS = 1_000;

/** Follows the wall clock of `clock`, and the steps by which it is set back. */
export function steadyTime(clock: Clock): SteadyTime {
  const offset = (): number => clock.epochMs() - clock.monotonicMs();
  let last = offset();
  /** How far the wall clock was set back. If it was set forward, the machine may have slept instead. */
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
