import type { Clock } from '@headgate/throttle';

/** Times of a run that stay in order, and as long ago as they are, if the wall clock is set back. Epoch ms. */
export interface SteadyTime {
  /** The current time; never earlier than before. */
  now(): number;
  /** A time of `now` on the wall clock as it is today. */
  onWall(at: number): number;
}

/** Smaller corrections are as good as none. */
const STEP_MS = 1_000;

export function steadyTime(clock: Clock): SteadyTime {
  const offset = (): number => clock.epochMs() - clock.monotonicMs();
  let last = offset();
  /** How far the wall clock was set back. Set forward, it may as well be a machine that slept. */
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
