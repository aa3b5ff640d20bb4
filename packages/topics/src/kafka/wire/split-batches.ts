import { type BatchRecords } from './batch-record.ts';
import type { Compression } from './codecs.ts';
import { encodeRecords } from './encode-records.ts';
import { BATCH_HEADER_BYTES, type RecordBatch } from './record-batch.ts';

export interface SplitOptions {
  /** The timestamp of every record, whole milliseconds since the epoch. */
  readonly timestampMs: number;
  /**
   * Maximum bytes of one batch before compression, including its header of 61 bytes. A broker compares the compressed size with `max.message.bytes`,
   * and incompressible bytes grow a little when compressed.
   */
  readonly maxBytes: number;
  /** Batches under 1,024 bytes stay uncompressed. */
  readonly compression: Compression;
}

export interface SplitBatch {
  /** The batch's size as a broker counts it, before compression. */
  readonly bytes: number;
  readonly count: number;
  packed(): Promise<RecordBatch>;
}

/** Encodes records into batches, in reused buffers. */
export class BatchSplitter {
  /**
   * The largest buffer of earlier batches, for reuse. A page of 5,000 records takes about half a megabyte, and a new buffer for each page would
   * burden the garbage collector.
   */
  #room: Buffer<ArrayBuffer> | undefined;

  /**
   * Splits the records, in order, into batches of at most `maxBytes` and 50,000 records, each as full as possible, and encodes each on
   * demand. Take the next batch only after the previous one has been sent, because its buffer is reused. Throws `RecordTooLargeError` at a
   * single record that exceeds `maxBytes`.
   */
  *split(records: BatchRecords, { timestampMs, maxBytes, compression }: SplitOptions): Generator<SplitBatch, void, undefined> {
    for (let from = 0; from < records.length;) {
      const room = this.#room;
      this.#room = undefined;
      const encoded = encodeRecords(records, { from, maxBytes: maxBytes - BATCH_HEADER_BYTES, maxRecords: MAX_RECORDS, room });
      const { count } = encoded;
      if (count === 0) throw new RecordTooLargeError(from, encoded.nextBytes + BATCH_HEADER_BYTES);
      const bytes = encoded.bytes.length + BATCH_HEADER_BYTES;
      const isSmall = bytes < SMALL_BYTES;
      yield {
        bytes,
        count,
        async packed() {
          if (isSmall) return { records: encoded.bytes, count, timestampMs, codec: 0 };
          return { records: await compression.compress(encoded.bytes), count, timestampMs, codec: compression.codec };
        },
      };
      this.#keep(encoded.room);
      from += count;
    }
  }

  #keep(room: Buffer<ArrayBuffer>): void {
    if (room.length <= MAX_ROOM_BYTES && room.length > (this.#room?.length ?? 0)) this.#room = room;
  }
}

/** kafkajs, with which others may read, can't read a batch of about 120,000 records: it passes all of them as arguments of one function call. */
const MAX_RECORDS = 50_000;
/** Compressing less than this, such as a checkpoint, costs more than it saves. */
const SMALL_BYTES = 1_024;
/** Maximum size of a buffer that is kept for reuse. */
const MAX_ROOM_BYTES = 4 * 1024 * 1024;

/** A single record exceeds the maximum size of a batch. Batches of earlier records may already have been sent. */
export class RecordTooLargeError extends Error {
  override readonly name = 'RecordTooLargeError';
  /** Bytes of a batch with only this record, before compression. */
  readonly bytes: number;

  constructor(index: number, bytes: number) {
    super(`Record ${index} needs ${bytes} bytes in its own batch.`);
    this.bytes = bytes;
  }
}
