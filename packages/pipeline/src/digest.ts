import { createHash } from 'node:crypto';

/** The first `length` characters, up to 43, of a text's SHA-256 in base64url. */
export function digest(text: string, length: number): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, length);
}
