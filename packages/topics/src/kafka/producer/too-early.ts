import { Backoff } from '../../backoff.ts';
import { isStale } from '../client/error-kinds.ts';
import { ENDING } from '../client/kafka-errors.ts';

const PAUSES = { firstMs: 8, mostMs: 200 };
const WITHIN_MS = 2_000;

/** Repeats a request for 2 s while brokers refuse it by one of these errors, all of which say that nothing of it was done. */
export async function notTooEarly<T>(request: () => Promise<T>, errors: ReadonlySet<string> = ENDING): Promise<T> {
  return await repeated(request, (error) => isTooEarly(error, errors));
}

/**
 * Repeats a request for 2 s, each time after `refresh`, while brokers refuse it because the metadata it was addressed by is out of date. Parts of it
 * may have been done: it has to be one that brokers recognize.
 */
export async function notStale<T>(request: () => Promise<T>, refresh?: () => Promise<void>): Promise<T> {
  return await repeated(request, isStale, refresh);
}

async function repeated<T>(request: () => Promise<T>, isPassing: (error: unknown) => boolean, refresh?: () => Promise<void>): Promise<T> {
  const deadline = performance.now() + WITHIN_MS;
  for (const backoff = new Backoff(PAUSES); ;) {
    try {
      return await request();
    } catch (error) {
      if (!isPassing(error) || performance.now() >= deadline) throw error;
    }
    await backoff.pause();
    // What is wrong with the brokers the request itself meets, too.
    await refresh?.().catch(() => undefined);
  }
}

/** An answer that is about a topic refuses a part of its request: another part may be done. */
function isTooEarly(error: unknown, errors: ReadonlySet<string>): boolean {
  return error instanceof Error && 'type' in error && errors.has(String(error.type)) && !('topic' in error);
}
