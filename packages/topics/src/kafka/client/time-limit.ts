import { addAbortListener } from 'node:events';

/** Settles as `work` does, or rejects after `limitMs`, with what `late` returns if that is defined; `work` itself continues. */
export async function withinTime<T>(limitMs: number, work: Promise<T>, late: () => Error | undefined = () => undefined): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late() ?? new Error(`No response within ${limitMs / 1_000} s`)), limitMs);
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles as `work` does, or rejects with the signal's reason as soon as the signal aborts; `work` itself continues. */
export async function abortable<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const listener = signal && addAbortListener(signal, () => aborted.reject(signal.reason));
  return await Promise.race([aborted.promise, work]).finally(() => listener?.[Symbol.dispose]());
}
