import { latestSignal } from './latest-signal.ts';
import type { PageReader } from './page-reader.ts';

/**
 * A reader that ends with `signal` too, not only with the signal of a read: the request in flight is aborted, and reads reject with the
 * signal's reason.
 */
export function endedBy<T>(reader: PageReader<T>, signal: AbortSignal): PageReader<T> {
  const abort = new AbortController();
  const end = (): void => abort.abort(signal.reason);
  let given: AbortSignal | undefined;
  const watch = latestSignal(() => abort.abort(given?.reason));
  return {
    take: () => (signal.aborted ? undefined : reader.take?.()),
    async read(options) {
      given = options.signal;
      watch(options.signal);
      if (signal.aborted) end();
      abort.signal.throwIfAborted();
      // A signal may live longer than many walks: it is listened to for as long as a read takes.
      signal.addEventListener('abort', end);
      try {
        return await reader.read({ ...options, signal: abort.signal });
      } finally {
        signal.removeEventListener('abort', end);
      }
    },
  };
}
