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
