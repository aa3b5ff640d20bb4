import type { RunEvent } from '../events/events.ts';
import type { RunModel } from '../progress/run-model.ts';

/** Time for which all attempts must fail before the service counts as unavailable, in ms. */
const FAILING_AFTER_MS = 2_000;

/**
 * Watches the attempts of all pipelines. Emits one event when all attempts of a pipeline have failed for two seconds, and another when the
 * failures end.
 */
export function serviceWatch(
  model: RunModel,
  emit: (event: Extract<RunEvent, { type: 'service-unavailable' | 'service-available' }>) => void,
): (event: Extract<RunEvent, { type: 'attempt' }>) => void {
  const { time } = model;
  const failing = new Map<string, number>();

  return ({ pipeline, reason = '' }) => {
    const now = time.now();
    const since = model.failingSince(pipeline);
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
