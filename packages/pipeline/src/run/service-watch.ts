import type { RunEvent } from '../events/events.ts';
import type { SteadyTime } from '../events/steady-time.ts';

export interface ServiceWatchOptions {
  readonly time: SteadyTime;
  /** Returns when the attempts of a pipeline started to fail, on the clock of `time`. Undefined while they don't. */
  readonly failingSince: (pipeline: string) => number | undefined;
  readonly emit: (event: Extract<RunEvent, { type: 'service-unavailable' | 'service-available' }>) => void;
}

/** Time for which all attempts must fail before the service counts as unavailable, in ms. */
const FAILING_AFTER_MS = 2_000;

/**
 * Watches the attempts of all pipelines. Emits one event when all attempts of a pipeline have failed for two seconds, and another when the
 * failures end.
 */
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
