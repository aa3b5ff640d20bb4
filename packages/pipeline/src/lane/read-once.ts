import type { Clock } from '@headgate/throttle';

/** Time for which a value is reused after the start of its read, in ms. */
const READ_AGAIN_MS = 10_000;

/** A value, and when its read began, on the monotonic clock. */
interface ReadValue<Value> {
  readonly value: Value;
  readonly atMs: number;
}

/** Wraps a read of the log, so that lanes that open within 10 s share it. Reads with different arguments are separate, and a failed one is repeated. */
export function readOnce<Key extends readonly (string | number)[], Value>(
  clock: Clock,
  read: (...key: Key) => Promise<Value>,
): (...key: Key) => Promise<ReadValue<Value>> {
  const known = new Map<string, { readonly atMs: number; readonly value: Promise<Value> }>();
  return async (...key) => {
    const name = key.join('/');
    let found = known.get(name);
    if (found === undefined || clock.monotonicMs() - found.atMs > READ_AGAIN_MS) {
      found = { atMs: clock.monotonicMs(), value: read(...key) };
      known.set(name, found);
      // If reading fails, remove the entry, so that the next caller reads again.
      found.value.catch(() => known.delete(name));
    }
    return { value: await found.value, atMs: found.atMs };
  };
}
