import type { Clock } from '@headgate/throttle';
import type { RunEvent } from './events.ts';

export interface ServiceWatchOptions {
  readonly clock: Clock;
  readonly emit: (event: Extract<RunEvent, { type: 'service-unavailable' | 'service-available' }>) => void;
}

/** A shorter time without a success is no more than one retry. */
const FAILING_AFTER_MS = 2_000;

/** Makes one fact of the faults that all requests of a pipeline meet: it emits when they have lasted two seconds, and when they are over. */
export function serviceWatch({ clock, emit }: ServiceWatchOptions): (event: Extract<RunEvent, { type: 'attempt' }>) => void {
  const failing = new Map<string, { readonly since: number; isTold: boolean }>();

  return ({ pipeline, outcome, reason = '', durationMs }) => {
    const now = clock.epochMs();
    const before = failing.get(pipeline);
    if (outcome !== 'transient') {
      failing.delete(pipeline);
      if (before?.isTold === true) emit({ type: 'service-available', pipeline, since: before.since, lastedMs: now - before.since });
      return;
    }
    const current = before ?? { since: now - durationMs, isTold: false };
    failing.set(pipeline, current);
    if (current.isTold || now - current.since < FAILING_AFTER_MS) return;
    current.isTold = true;
    emit({ type: 'service-unavailable', pipeline, since: current.since, reason });
  };
}
