import { inspect } from 'node:util';

/** Every error of a source has these: read by shape, so that two copies of a package understand each other. */
interface SourceErrorShape {
  readonly code: string;
  readonly endsSource: boolean;
}

export function isSourceError(error: unknown): error is SourceErrorShape {
  return error instanceof Error && 'endsSource' in error && 'code' in error && typeof error.code === 'string';
}

/** True for a promise, of whichever library. Its rejection is taken for read. */
export function isPromise(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('then' in value) || typeof value.then !== 'function') return false;
  if (value instanceof Promise) value.catch(() => undefined);
  return true;
}

/** What a user's function has thrown, in words. */
export function textOf(cause: unknown): string {
  if (cause instanceof Error) return `${cause.name}: ${cause.message}`;
  return typeof cause === 'string' ? cause : inspect(cause, { depth: 1 }).slice(0, 200);
}

/** The first line of the stack below the message, in brackets. */
export function placeOf(cause: unknown): string {
  const line = cause instanceof Error ? /^\s+at .*$/m.exec(cause.stack ?? '')?.[0].trim() : undefined;
  return line === undefined ? '' : ` (${line})`;
}
