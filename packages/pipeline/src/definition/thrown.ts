import { inspect } from 'node:util';

/** A thrown or returned value, in words. */
export function textOf(cause: unknown): string {
  if (cause instanceof Error) return `${cause.name}: ${cause.message}`;
  return typeof cause === 'string' ? cause : inspect(cause, { depth: 1 }).slice(0, 200);
}

/** The first line of the stack below the message, in brackets. */
export function placeOf(cause: unknown): string {
  const line = cause instanceof Error ? /^\s+at .*$/m.exec(cause.stack ?? '')?.[0].trim() : undefined;
  return line === undefined ? '' : ` (${line})`;
}
