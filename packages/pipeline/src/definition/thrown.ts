import { inspect } from 'node:util';

/** Messages are cut, because one may quote a whole page, and every dead letter and log line would contain it. */
const MAX_WORDS = 2_000;
const MAX_VALUE = 200;

/** Describes a value of a user's function, or an error that it threw. */
export function textOf(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`.slice(0, MAX_WORDS);
  return typeof value === 'string' ? value.slice(0, MAX_WORDS) : inspect(value, { depth: 1, customInspect: false }).slice(0, MAX_VALUE);
}

/** Returns what a user's function has thrown, or an Error in its place if reading it throws: a revoked proxy, or a getter that throws. */
export function readable(error: unknown): unknown {
  try {
    const { name, message, stack, code, retryable } = Object(error) as Record<string, unknown>;
    [name, message, stack, code, retryable, error instanceof Error].join();
    return error;
  } catch {
    return new Error("it threw a value that can't be read");
  }
}

/** The first line of the stack below the message, in brackets. */
export function placeOf(cause: unknown): string {
  const line = cause instanceof Error ? /^\s+at .*$/m.exec(cause.stack ?? '')?.[0].trim() : undefined;
  return line === undefined ? '' : ` (${line})`;
}
