import type { RunEvent } from '../view/events.ts';
import type { SteadyTime } from '../view/steady-time.ts';

export interface ServiceWatchOptions {
  readonly time: SteadyTime;
  /** Start of the time in which every attempt of a pipeline failed, by `time`; undefined while attempts succeed. */
  readonly failingSince: (pipeline: string) => number | undefined;
  readonly emit: (event: Extract<RunEvent, { type: 'service-unavailable' | 'service-available' }>) => void;
}

/** Minimum time without a success before the event. In a shorter time, there may have been only one retry. */
const FAILING_AFTER_MS = 2_000;

/** Turns the errors that all requests of a pipeline meet into one event: it emits when they have lasted two seconds, and when they end. */
export function serviceWatch({ time, failingSince, emit }: ServiceWatchOptions): (event: Extract<RunEvent, { type: 'attempt' }>) => void {
  const failing = new Map<string, number>();

  return ({ pipeline, reason = '' }) => {
    const now = time.now();
    const since = failingSince(pipeline);
    const before = failing.get(pipeline);
    if (since === undefined) {
      if (before === undefined) return;
      failing.delete(pipeline);
      emit({ type: 'service-available', pipeline, since: time.onWall(before), lastedMs: now - before });
    } else if (before === undefined && now - since >= FAILING_AFTER_MS) {
      failing.set(pipeline, since);
      emit({ type: 'service-unavailable', pipeline, since: time.onWall(since), reason });
    }
  };
}
