import { inspect } from 'node:util';

/** The result of a function of a definition. Throws a `TypeError` for a promise, whose rejection would end the process. */
export function atOnce<Result>(result: Result): Result {
  if (!(result instanceof Promise)) return result;
  result.catch(() => undefined);
  throw new TypeError('it gives a promise, and has to answer at once');
}

/** What a user's function has thrown, in words. */
export function textOf(cause: unknown): string {
  if (cause instanceof Error) return `${cause.name}: ${cause.message}`;
  return typeof cause === 'string' ? cause : inspect(cause);
}

/** The first line of the stack below the message, in brackets. */
export function placeOf(cause: unknown): string {
  const line = cause instanceof Error ? /^\s+at .*$/m.exec(cause.stack ?? '')?.[0].trim() : undefined;
  return line === undefined ? '' : ` (${line})`;
}
