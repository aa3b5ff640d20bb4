import type { Clock } from '@headgate/throttle';
import { onAbort } from '@headgate/throttle/internal';

/** The time limits of a stop, as signals. Everything that waits during a stop reads it. */
export interface StopDeadline {
  /** Aborts when responses in flight must be written; what isn't written by then is given up, and requested again by the next run. */
  readonly written: AbortSignal;
  /** Aborts when lanes, group and log must be closed; the stop waits for nothing after that. */
  readonly closed: AbortSignal;
}

/** Maximum time to write the work in flight when a lane ends, for any reason. */
export const WRITTEN_WITHIN_MS = 8_000;
const CLOSED_WITHIN_MS = 9_500;

/** A deadline that begins when `signal` aborts. Dispose it when the stop has ended. */
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
