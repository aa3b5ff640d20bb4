/** A topic exists in a form that can't become the one asked for. */
export class TopicMismatchError extends Error {
  override readonly name = 'TopicMismatchError';
  readonly code = 'HEADGATE_TOPIC_MISMATCH';
  readonly retryable = false;
  readonly topic: string;

  constructor(details: { readonly topic: string; readonly reason: string }, options?: ErrorOptions) {
    super(`Topic "${details.topic}" ${details.reason}`, options);
    this.topic = details.topic;
  }
}

/** A topic, or a partition of it, that doesn't exist. */
export class TopicUnknownError extends Error {
  override readonly name = 'TopicUnknownError';
  readonly code = 'HEADGATE_TOPIC_UNKNOWN';
  readonly retryable = false;
  readonly topic: string;
  /** The missing partition; null when the topic itself is missing. */
  readonly partition: number | null;

  constructor(
    details: { readonly topic: string; readonly partition: number | null; readonly partitions: number | null },
    options?: ErrorOptions,
  ) {
    super(
      details.partition === null
        ? `There is no topic "${details.topic}". Create it with createTopics, or check its spelling.`
        : `Topic "${details.topic}" has no partition ${details.partition}; it has ${details.partitions ?? 0}, counted from 0.`,
      options,
    );
    this.topic = details.topic;
    this.partition = details.partition;
  }
}

/** A record its topic can't take, e.g. one without a key on a compacted topic. Nothing of its transaction was written. */
export class InvalidRecordError extends Error {
  override readonly name = 'InvalidRecordError';
  readonly code = 'HEADGATE_INVALID_RECORD';
  readonly retryable = false;
  readonly topic: string;

  constructor(details: { readonly topic: string; readonly reason: string }, options?: ErrorOptions) {
    super(`A record for topic "${details.topic}" ${details.reason}`, options);
    this.topic = details.topic;
  }
}
