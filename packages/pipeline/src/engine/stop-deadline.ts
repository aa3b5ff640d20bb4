import type { Clock } from '@headgate/throttle';
import { onAbort } from '@headgate/throttle/internal';

/** The time limits of a stop, as signals. They end every wait during a stop. */
export interface StopDeadline {
  /** Aborts when responses in flight must be written. The run gives up the others, and the next run requests them again. */
  readonly written: AbortSignal;
  /** Aborts when lanes, group and log must be closed. The stop waits for nothing after that. */
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
