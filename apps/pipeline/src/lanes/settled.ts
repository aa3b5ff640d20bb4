import type { Clock } from '@headgate/throttle';
import type { Bell } from './bell.ts';

export interface SettledOptions {
  readonly bell: Bell;
  readonly clock: Clock;
  readonly isBusy: () => boolean;
}

/** The longest a stop waits for what is in hand. */
const STOP_WITHIN_MS = 8_000;

/** Waits until what is in hand has been written or given up, but not for ever. Rejects when the lane can't go on. */
export async function settled({ bell, clock, isBusy }: SettledOptions): Promise<void> {
  const deadline = clock.monotonicMs() + STOP_WITHIN_MS;
  while (isBusy() && clock.monotonicMs() < deadline) await bell.wait(deadline - clock.monotonicMs());
}
