import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';

const KNOWN_VERSION = '2.2.4';

/** Whether kafkajs is the known one, and `method` of it has the text of that hash. */
export function isKnownMethod(method: unknown, sha256: string): boolean {
  const { version } = createRequire(import.meta.url)('kafkajs/package.json') as { readonly version: string };
  if (version !== KNOWN_VERSION || typeof method !== 'function') return false;
  return createHash('sha256').update(method.toString()).digest('hex') === sha256;
}
