/** Bytes of an empty batch, and of a record in addition to key, value and headers: lengths, deltas. */
const RECORD_OVERHEAD_BYTES = 61 + 64;
/** Incompressible bytes grow a little under compression. */
const COMPRESSION_GROWTH = 0.99;

/** Maximum bytes of a batch that is sent to a topic with that `max.message.bytes`. */
export function batchBytes(maxMessageBytes: number): number {
  return Math.floor(maxMessageBytes * COMPRESSION_GROWTH);
}

/** Maximum bytes of a record's key, value and headers on such a topic. */
export function recordBytes(maxMessageBytes: number): number {
  return Math.max(0, batchBytes(maxMessageBytes) - RECORD_OVERHEAD_BYTES);
}

/** The minimum `max.message.bytes` of a topic that accepts records of this many bytes. */
export function messageBytesFor(record: number): number {
  return messageBytesForBatch(record + RECORD_OVERHEAD_BYTES);
}

/** The minimum `max.message.bytes` of a topic that accepts a batch of this many bytes, before compression. */
export function messageBytesForBatch(batch: number): number {
  return Math.ceil(batch / COMPRESSION_GROWTH);
}
