import { createHash } from 'node:crypto';
import { kafkajsVersion, unsupportedReason } from './kafkajs-version.ts';

/** Whether kafkajs is the known one, and `method` of it has the text of that hash. */
export function isKnownMethod(method: unknown, sha256: string): boolean {
  if (unsupportedReason(kafkajsVersion()) !== undefined || typeof method !== 'function') return false;
  return createHash('sha256').update(method.toString()).digest('hex') === sha256;
}
