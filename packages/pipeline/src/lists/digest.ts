import { hash } from 'node:crypto';

/** The first `length` characters, up to 43, of a text's SHA-256 in base64url. */
export function digest(text: string, length: number): string {
  return hash('sha256', text, 'base64url').slice(0, length);
}
