import type { SQLOutputValue } from 'node:sqlite';

/** Returns a column's integer. Throws for anything else, because a damaged file can contain any value. */
export function integer(value: SQLOutputValue | undefined): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new DamagedColumnError('an integer', value);
}

export function text(value: SQLOutputValue | undefined): string {
  if (typeof value === 'string') return value;
  throw new DamagedColumnError('text', value);
}

export function integerOrNull(value: SQLOutputValue | undefined): number | null {
  return value === null ? null : integer(value);
}

export function textOrNull(value: SQLOutputValue | undefined): string | null {
  return value === null ? null : text(value);
}

export function fieldOrNull(value: SQLOutputValue | undefined): string | Uint8Array | null {
  if (value === null || typeof value === 'string' || value instanceof Uint8Array) return value;
  throw new DamagedColumnError('text or bytes', value);
}

/** Has the `errcode` SQLITE_CORRUPT, like SQLite's own errors, so `fileError` reports a damaged file. */
class DamagedColumnError extends Error {
  override readonly name = 'DamagedColumnError';
  readonly errcode = 11;

  constructor(expected: string, value: unknown) {
    super(`a column holds ${value === null ? 'null' : typeof value} instead of ${expected}`);
  }
}
