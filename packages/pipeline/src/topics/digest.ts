import { hash } from 'node:crypto';

/** Returns the first `length` characters (at most 43) of a text's SHA-256 in base64url. */
export function digest(text: string, length: number): string {
  return hash('sha256', text, 'base64url').slice(0, length);
}
