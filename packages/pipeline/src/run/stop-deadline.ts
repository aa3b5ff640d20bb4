import type { Clock } from '@headgate/throttle';
import { onAbort } from '@headgate/throttle/internal';

/** The time limits of a stop, as signals. */
export interface StopDeadline {
  /**
   * Aborts when the time for writing responses is over. The run gives up the requests still in flight, and the next run sends them again.
   */
  readonly written: AbortSignal;
  /** Aborts when the time for closing is over. After that, the stop waits for nothing. */
  readonly closed: AbortSignal;
}

/** Maximum time to write the work in flight when a lane ends for any reason, ms. */
export const WRITTEN_WITHIN_MS = 8_000;
/** Maximum time from a stop until everything is closed, ms. */
const CLOSED_WITHIN_MS = 9_500;

/** Creates a deadline that starts when `signal` aborts. Dispose of it when the stop has ended. */
export function stopDeadline({ clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal }): StopDeadline & Disposable {
  const written = new AbortController();
  const closed = new AbortController();
  let cancel = (): void => undefined;
  const begin = (): void => {
    cancel = clock.schedule(WRITTEN_WITHIN_MS, () => {
      cancel = clock.schedule(CLOSED_WITHIN_MS - WRITTEN_WITHIN_MS, () => closed.abort());
      written.abort();
    });
  };
  const forget = onAbort(signal, begin);
  return {
    written: written.signal,
    closed: closed.signal,
    [Symbol.dispose]() {
      forget();
      cancel();
    },
  };
}
