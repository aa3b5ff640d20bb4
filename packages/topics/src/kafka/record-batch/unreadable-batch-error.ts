/** A batch that no fetching again makes readable. */
export class UnreadableBatchError extends Error {
  override readonly name = 'UnreadableBatchError';
  readonly code = 'HEADGATE_UNREADABLE_BATCH';
  readonly retryable = false;

  constructor(details: { readonly compression: string }, options?: ErrorOptions) {
    const reason = options?.cause instanceof Error ? options.cause.message : 'unknown';
    super(
      `A batch of records compressed with ${details.compression} can't be read: ${reason}. Delete it from its topic, or mend it.`,
      options,
    );
  }
}
