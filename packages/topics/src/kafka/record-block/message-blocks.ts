import type { Message } from 'kafkajs';
import type { BlockOptions, BlockRecord } from './block-record.ts';
import { BlockRecordTooLargeError } from './block-record-too-large-error.ts';
import { encodeRecords, type EncodedRecords } from './encode-records.ts';
import { kafkajsVersion, whyPlain } from './kafkajs-version.ts';
import { plainMessages } from './plain-messages.ts';
import { recordBlock } from './record-block.ts';

export interface MessageBlocksOptions {
  /** Told once, when records go kafkajs's plain way from here on: the same bytes at several times the work. */
  readonly onFallback: (reason: string) => void;
  /** kafkajs's version. Default: that of the installed one. */
  readonly version?: string;
}

export interface SplitOptions extends BlockOptions {
  /**
   * The most bytes of one batch, its own 61 included, before compression. A broker compares what arrives, compressed, with `max.message.bytes`;
   * bytes that can't be compressed grow by up to 0.5 %.
   */
  readonly maxBytes: number;
}

/** The messages of one send, for one topic. */
export interface MessageBlock {
  /** As `messages` answers them. */
  readonly messages: Message[];
  /** The index of its first record among those given. */
  readonly first: number;
  /** How many records it holds. */
  readonly count: number;
  /** The batch as a broker counts it, before compression. */
  readonly bytes: number;
}

/** Makes records of one topic and partition into messages for kafkajs's `send`, encoded as one block. */
export class MessageBlocks {
  readonly #onFallback: (reason: string) => void;
  #plain = false;

  constructor(options: MessageBlocksOptions) {
    this.#onFallback = options.onFallback;
    const reason = whyPlain(options.version ?? kafkajsVersion());
    if (reason !== undefined) this.#fallBack(reason);
  }

  /** All records as one block, whatever its size; for one `send`, with no other messages of its topic beside it. May be sent again. */
  messages(records: readonly BlockRecord[], options: BlockOptions): Message[] {
    return this.#messages(records, encodeRecords(records), options);
  }

  /**
   * The records in their order as blocks of at most `maxBytes`, each as full as can be; encoded as they are asked for.
   * Throws `BlockRecordTooLargeError` when it comes to a record that needs more by itself.
   */
  *split(records: readonly BlockRecord[], options: SplitOptions): Generator<MessageBlock, void, undefined> {
    const maxBytes = options.maxBytes - BATCH_OVERHEAD_BYTES;
    for (let from = 0; from < records.length;) {
      const encoded = encodeRecords(records, { from, maxBytes });
      if (encoded.count === 0) {
        throw new BlockRecordTooLargeError({ index: from, bytes: encoded.nextBytes + BATCH_OVERHEAD_BYTES, maxBytes: options.maxBytes });
      }
      const messages = this.#messages(records.slice(from, from + encoded.count), encoded, options);
      yield { messages, first: from, count: encoded.count, bytes: encoded.bytes.length + BATCH_OVERHEAD_BYTES };
      from += encoded.count;
    }
  }

  #messages(records: readonly BlockRecord[], encoded: EncodedRecords, options: BlockOptions): Message[] {
    if (this.#plain || records.length === 0) return plainMessages(records, options);
    return recordBlock({ ...options, records, encoded, onMismatch: (reason) => this.#fallBack(reason) });
  }

  #fallBack(reason: string): void {
    if (this.#plain) return;
    this.#plain = true;
    this.#onFallback(reason);
  }
}

/** A record batch of magic 2 without its records (Kafka protocol, RecordBatch), as a broker compares it with `max.message.bytes`. */
const BATCH_OVERHEAD_BYTES = 61;
