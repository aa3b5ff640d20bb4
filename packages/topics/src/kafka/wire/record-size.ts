/** The header of a batch (61 bytes), and a margin for the lengths and deltas of one record (64 bytes). */
const RECORD_OVERHEAD_BYTES = 61 + 64;
/** Share of `max.message.bytes` that a batch can fill before compression, because incompressible bytes grow a little when compressed. */
const COMPRESSION_GROWTH = 0.99;

/** Maximum bytes of a batch for a topic with this `max.message.bytes`, before compression. */
export function batchBytes(maxMessageBytes: number): number {
  return Math.floor(maxMessageBytes * COMPRESSION_GROWTH);
}

/** Maximum bytes of a record's key, value and headers in a topic with this `max.message.bytes`. */
export function recordBytes(maxMessageBytes: number): number {
  return Math.max(0, batchBytes(maxMessageBytes) - RECORD_OVERHEAD_BYTES);
}

/** The `max.message.bytes` at which a record with this many bytes of key, value and headers fits, with a margin. */
export function messageBytesFor(record: number): number {
  return messageBytesForBatch(record + RECORD_OVERHEAD_BYTES);
}

/** The `max.message.bytes` at which a batch of this many bytes before compression fits, with a margin. */
export function messageBytesForBatch(batch: number): number {
  return Math.ceil(batch / COMPRESSION_GROWTH);
}
