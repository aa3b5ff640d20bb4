import type { Clock } from '@headgate/throttle';
import type { HeldBack, TopicLog } from '@headgate/topics';
import type { Lane } from './lane.ts';

/** Sees whether somebody's open transaction keeps a lane's wishes from being read. */
export interface HeldBackWatch {
  /** Answers whether one does; `now` false: as it was within the last second. False when the signal aborts. */
  look(now: boolean): Promise<boolean>;
}

export interface HeldBackWatchOptions {
  readonly log: TopicLog;
  readonly lane: Pick<Lane, 'topic' | 'partition'>;
  readonly clock: Clock;
  /** Told when the same transaction has been in the way for two seconds, and with undefined when it is no longer. */
  readonly onChange: (heldBack: HeldBack | undefined) => void;
  readonly signal: AbortSignal;
}

/** Whoever enqueues has a transaction open for some milliseconds. */
const TELL_AFTER_MS = 2_000;
const LOOK_AGAIN_MS = 1_000;

export function heldBackWatch({ log, lane, clock, onChange, signal }: HeldBackWatchOptions): HeldBackWatch {
  const { topic, partition } = lane;
  let lookAgainMs = -Infinity;
  let seen: { readonly offset: number; readonly atMs: number } | undefined;
  let told = false;

  return {
    async look(now) {
      if (!now && clock.monotonicMs() < lookAgainMs) return seen !== undefined;
      const heldBack = await log.heldBack({ topic, partition }, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
        return undefined;
      });
      const atMs = clock.monotonicMs();
      lookAgainMs = atMs + LOOK_AGAIN_MS;
      if (heldBack?.offset !== seen?.offset) {
        seen = heldBack && { offset: heldBack.offset, atMs };
        if (told) onChange(undefined);
        told = false;
      }
      if (heldBack !== undefined && seen !== undefined && !told && atMs - seen.atMs >= TELL_AFTER_MS) {
        told = true;
        onChange(heldBack);
      }
      return heldBack !== undefined;
    },
  };
}
