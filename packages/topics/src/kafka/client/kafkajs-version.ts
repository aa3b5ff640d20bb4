import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';

/** The release whose inner workings the driver relies on: its array calls and codec look-up, and the methods it repairs. */
const KNOWN_VERSION = '2.2.4';

/** The version of the kafkajs that is installed; `unknown` where its package.json names none. */
export function kafkajsVersion(): string {
  const description: unknown = createRequire(import.meta.url)('kafkajs/package.json');
  const named = typeof description === 'object' && description !== null && 'version' in description ? description.version : undefined;
  return typeof named === 'string' ? named : 'unknown';
}

/** Why batches and codecs of one's own can't be used with this version of kafkajs, or undefined where they can. */
export function unsupportedReason(version: string): string | undefined {
  return version === KNOWN_VERSION ? undefined : `kafkajs is ${version}; batches are made for ${KNOWN_VERSION}`;
}

/** True when kafkajs has the known version, and the text of its `method` has that hash. */
export function isKnownMethod(method: unknown, sha256: string): boolean {
  if (unsupportedReason(kafkajsVersion()) !== undefined || typeof method !== 'function') return false;
  return createHash('sha256').update(method.toString()).digest('hex') === sha256;
}
