import { CompressionTypes, type Message } from 'kafkajs';
import { type BatchOptions, type BatchRecords, part } from './batch-record.ts';
import { encodeRecords, type EncodedRecords } from './encode-records.ts';
import { isOwn } from './codecs.ts';
import { releaseBuffer, registerBuffer } from './buffer-registry.ts';
import { kafkajsVersion, unsupportedReason } from '../client/kafkajs-version.ts';
import { plainMessages, recordBatch } from './record-batch.ts';

export interface RecordBatchesOptions {
  /** Called once, when kafkajs's own encoder takes over for good: the same bytes at several times the work. */
  readonly onFallback: (reason: string) => void;
  /** kafkajs's version. Default: that of the installed one. */
  readonly version?: string;
}

export interface SplitOptions extends BatchOptions {
  /**
   * The most bytes of one batch, its own 61 included, before compression. A broker compares what arrives, compressed, with `max.message.bytes`;
   * bytes that can't be compressed grow by up to 0.5 %.
   */
  readonly maxBytes: number;
  /** As given to `send` afterwards. Default: none. */
  readonly compression?: CompressionTypes;
}

/** The messages of one send, for one topic. */
export interface RecordBatch {
  /** As `messages` answers them. */
  readonly messages: Message[];
  /** The index of its first record among those given. */
  readonly first: number;
  /** How many records it holds. */
  readonly count: number;
  /** The batch as a broker counts it, before compression. */
  readonly bytes: number;
  /** To be given to `send`: a small batch isn't worth compressing. */
  readonly compression: CompressionTypes;
}

/** Makes records of one topic and partition into messages for kafkajs's `send`, encoded as one batch. */
export class RecordBatches {
  readonly #onFallback: (reason: string) => void;
  #plain = false;
  /** The buffer of a batch that has been sent, kept for reuse: half a megabyte a page would only make work for the collector. */
  #room: Buffer<ArrayBuffer> | undefined;

  constructor(options: RecordBatchesOptions) {
    this.#onFallback = options.onFallback;
    const reason = unsupportedReason(options.version ?? kafkajsVersion());
    if (reason !== undefined) this.#fallBack(reason);
  }

  /** All records as one batch, whatever its size; for one `send`, with no other messages of its topic beside it. May be sent again. */
  messages(records: BatchRecords, options: BatchOptions): Message[] {
    return this.#messages(records, encodeRecords(records), options);
  }

  /**
   * Splits the records, in their order, into batches of at most `maxBytes`, each as full as possible, and encodes each on demand. Taking
   * the next batch means that the one before has been sent: its buffer is reused. Throws `RecordTooLargeError` at a record that exceeds
   * `maxBytes` by itself.
   */
  *split(records: BatchRecords, options: SplitOptions): Generator<RecordBatch, void, undefined> {
    const maxBytes = options.maxBytes - BATCH_OVERHEAD_BYTES;
    for (let from = 0; from < records.length;) {
      const room = this.#room;
      this.#room = undefined;
      const encoded = encodeRecords(records, { from, maxBytes, room });
      if (encoded.count === 0) {
        throw new RecordTooLargeError({ index: from, bytes: encoded.nextBytes + BATCH_OVERHEAD_BYTES, maxBytes: options.maxBytes });
      }
      const bytes = encoded.bytes.length + BATCH_OVERHEAD_BYTES;
      const compression = bytes < SMALL_BYTES ? CompressionTypes.None : (options.compression ?? CompressionTypes.None);
      const token = isOwn(compression) ? registerBuffer(encoded.bytes) : undefined;
      try {
        const messages = this.#messages(part(records, from, encoded.count), encoded, { ...options, ...(token && { token }) });
        yield { messages, first: from, count: encoded.count, bytes, compression };
      } finally {
        if (token !== undefined) releaseBuffer(token);
      }
      if (encoded.room.length <= MOST_ROOM_BYTES) this.#room = encoded.room;
      from += encoded.count;
    }
  }

  #messages(records: BatchRecords, encoded: EncodedRecords, options: BatchOptions & { readonly token?: Buffer }): Message[] {
    if (this.#plain || records.length === 0) return plainMessages(records, options);
    return recordBatch({ ...options, records, encoded, onMismatch: (reason) => this.#fallBack(reason) });
  }

  #fallBack(reason: string): void {
    if (this.#plain) return;
    this.#plain = true;
    this.#onFallback(reason);
  }
}

/** To compress less than this, a checkpoint for one, costs more than it saves. */
const SMALL_BYTES = 1_024;
/** A larger buffer isn't kept. */
const MOST_ROOM_BYTES = 4 * 1024 * 1024;
/** A record batch of magic 2 without its records (Kafka protocol, RecordBatch), as a broker compares it with `max.message.bytes`. */
const BATCH_OVERHEAD_BYTES = 61;

/** A record that is larger than a batch may be, by itself. Records before it may have been made into batches already. */
export class RecordTooLargeError extends Error {
  override readonly name = 'RecordTooLargeError';
  readonly code = 'HEADGATE_RECORD_TOO_LARGE';
  readonly retryable = false;
  /** The record's index among those given. */
  readonly index: number;
  /** The size of a batch of this record alone. */
  readonly bytes: number;

  constructor(details: { readonly index: number; readonly bytes: number; readonly maxBytes: number }, options?: ErrorOptions) {
    super(
      `Record ${details.index} needs ${details.bytes} bytes in a batch of its own, and a batch may have ${details.maxBytes}. ` +
        'Make the record smaller, or let the topic take larger ones (max.message.bytes).',
      options,
    );
    this.index = details.index;
    this.bytes = details.bytes;
  }
}
