import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff } from '../../backoff.ts';

const PAUSES = { firstMs: 4, mostMs: 200 };
const WITHIN_MS = 2_000;

/** The last transaction of the transactional id is still being ended: its markers are written within milliseconds, unless a broker is away. */
const ENDING: ReadonlySet<string> = new Set(['CONCURRENT_TRANSACTIONS']);
/** The same, or a coordinator that begins. */
export const STARTING: ReadonlySet<string> = new Set([
  ...ENDING,
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
]);

/** Repeats a request for 2 s while brokers refuse it by one of these errors, all of which say that nothing of it was done. */
export async function notTooEarly<T>(request: () => Promise<T>, errors: ReadonlySet<string> = ENDING): Promise<T> {
  const deadline = performance.now() + WITHIN_MS;
  for (const backoff = new Backoff(PAUSES); ; await sleep(backoff.nextMs())) {
    try {
      return await request();
    } catch (error) {
      if (!isTooEarly(error, errors) || performance.now() >= deadline) throw error;
    }
  }
}

/** An answer that is about a topic refuses a part of its request: another part may be done. */
function isTooEarly(error: unknown, errors: ReadonlySet<string>): boolean {
  return error instanceof Error && 'type' in error && errors.has(String(error.type)) && !('topic' in error);
}
