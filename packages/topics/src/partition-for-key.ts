import { assertWhole } from './whole-options.ts';

/**
 * Returns a key's partition, from 0 to `partitions - 1`: `toPositive(murmur2(utf8(key))) % partitions`, like Kafka's Java client
 * (`BuiltInPartitioner.partitionForKey`) and kafkajs's default partitioner. The key is text or bytes. Throws a `RangeError` unless `partitions` is an
 * integer of at least 1.
 */
export function partitionForKey(key: string | Uint8Array, partitions: number): number {
  assertWhole('partitionForKey', { partitions }, 1);
  if (partitions === 1) return 0;
  return (murmur2(typeof key === 'string' ? new TextEncoder().encode(key) : key) & 0x7fffffff) % partitions;
}

/** MurmurHash2 with Kafka's seed, as a signed 32-bit integer (org.apache.kafka.common.utils.Utils.murmur2). */
function murmur2(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const whole = bytes.length & ~3;
  let hash = 0x9747b28c ^ bytes.length;
  for (let at = 0; at < whole; at += 4) {
    let block = Math.imul(view.getInt32(at, true), MULTIPLIER);
    block ^= block >>> 24;
    hash = Math.imul(hash, MULTIPLIER) ^ Math.imul(block, MULTIPLIER);
  }
  const rest = bytes.length - whole;
  if (rest > 2) hash ^= view.getUint8(whole + 2) << 16;
  if (rest > 1) hash ^= view.getUint8(whole + 1) << 8;
  if (rest > 0) hash = Math.imul(hash ^ view.getUint8(whole), MULTIPLIER);
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return hash ^ (hash >>> 15);
}

const MULTIPLIER = 0x5bd1e995;
