import { addAbortListener } from 'node:events';

/** Settles as `work` does, or rejects after `limitMs`; `work` itself continues. */
export async function withinTime<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No response within ${limitMs / 1_000} s`)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

const CLOSE_WITHIN_MS = 1_000;

/**
 * Waits at most 1 s for a connection to close, and ignores an error. kafkajs waits for open requests, to which a broker may never respond.
 */
export async function waitForClose(closing: Promise<void>): Promise<void> {
  await withinTime(CLOSE_WITHIN_MS, closing).catch(() => undefined);
}

/** Settles as `work` does, or rejects with the signal's reason as soon as the signal aborts; `work` itself continues. */
export async function abortable<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const listener = signal && addAbortListener(signal, () => aborted.reject(signal.reason));
  return await Promise.race([aborted.promise, work]).finally(() => listener?.[Symbol.dispose]());
}
