import { inspect } from 'node:util';

/** Maximum characters of a quoted message. A message can quote a whole page, which every dead letter and log line would then repeat. */
const MAX_WORDS = 2_000;
/** Maximum characters of a quoted value. */
const MAX_VALUE = 200;

/** Describes a value that a user's function returned, or an error that it threw. */
export function textOf(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`.slice(0, MAX_WORDS);
  return typeof value === 'string' ? value.slice(0, MAX_WORDS) : inspect(value, { depth: 1, customInspect: false }).slice(0, MAX_VALUE);
}

/**
 * Returns the value that a user's function has thrown. If reading the value throws, as for a revoked proxy, returns an Error in its place.
 */
export function readable(error: unknown): unknown {
  try {
    const { name, message, stack, code, retryable } = Object(error) as Record<string, unknown>;
    [name, message, stack, code, retryable, error instanceof Error].join();
    return error;
  } catch {
    return new Error("it threw a value that can't be read");
  }
}

/** Returns the topmost line of an error's stack, in parentheses. Empty if the value isn't an error or has no stack. */
export function placeOf(cause: unknown): string {
  const line = cause instanceof Error ? /^\s+at .*$/m.exec(cause.stack ?? '')?.[0].trim() : undefined;
  return line === undefined ? '' : ` (${line})`;
}
