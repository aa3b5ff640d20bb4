import { TopicLogError } from './topic-log-error.ts';

/** Why an existing topic can't become the specified one. */
export interface TopicMismatch {
  /** Name of the topic. */
  readonly topic: string;
  /** Continues a sentence that begins with the topic's name. */
  readonly reason: string;
  /** Number of the topic's partitions, if it has more than specified. */
  readonly partitions?: number;
  /** Settings with which the topic would fit, by name, if its settings are the reason. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Existing topics can't become the specified ones. */
export class TopicMismatchError extends TopicLogError {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'TopicMismatchError';
  /** Name of the first topic that doesn't fit. */
  readonly topic: string;
  /** All reasons, including the first one. A topic can have several. */
  readonly mismatches: readonly TopicMismatch[];

  /** `others`: further reasons, each in its own line of the message. */
  constructor(details: TopicMismatch & { readonly others?: readonly TopicMismatch[] }, options?: ErrorOptions) {
    const { others = [], ...first } = details;
    const mismatches = [first, ...others];
    super(
      { code: 'HEADGATE_TOPIC_MISMATCH', message: mismatches.map(({ topic, reason }) => `Topic "${topic}" ${reason}`).join('\n') },
      options,
    );
    this.topic = details.topic;
    this.mismatches = mismatches;
  }
}

/** A topic, or a partition of it, that doesn't exist. */
export class TopicUnknownError extends TopicLogError {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'TopicUnknownError';
  /** The topic that is missing, or lacks the partition. */
  readonly topic: string;
  /** The missing partition; null when the topic itself is missing. */
  readonly partition: number | null;

  constructor(
    details: { readonly topic: string; readonly partition: number | null; readonly partitions: number | null },
    options?: ErrorOptions,
  ) {
    super(
      {
        code: 'HEADGATE_TOPIC_UNKNOWN',
        message:
          details.partition === null
            ? `There is no topic "${details.topic}". Create it with createTopics, or check its spelling.`
            : `Topic "${details.topic}" has no partition ${details.partition}; it has ${details.partitions ?? 0}, counted from 0.`,
      },
      options,
    );
    this.topic = details.topic;
    this.partition = details.partition;
  }
}

/** A topic lost records during use: it was deleted and recreated, or its end was cut off. */
export class TopicLostError extends TopicLogError {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'TopicLostError';
  /** The topic that lost records. */
  readonly topic: string;

  constructor(details: { readonly topic: string }, options?: ErrorOptions) {
    super(
      {
        code: 'HEADGATE_TOPIC_LOST',
        message: `Topic "${details.topic}" lost records while it was in use: it was deleted and recreated, or its end was cut off. Restore it, or start over.`,
      },
      options,
    );
    this.topic = details.topic;
  }
}

/**
 * A record can't be written, for example to a compacted topic without a key; nothing of its transaction was written. Or a stored record can't be read
 * as text; the error then has its partition and offset.
 */
export class InvalidRecordError extends TopicLogError {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'InvalidRecordError';
  /** Topic of the record. */
  readonly topic: string;
  /** Partition of a record that can't be read; undefined for one that can't be written. */
  readonly partition: number | undefined;
  /** Offset of a record that can't be read; undefined for one that can't be written. */
  readonly offset: number | undefined;
  /** The invalid fields: `key`, `value`, `header "name"`. Empty if the error is about the whole record. */
  readonly fields: readonly string[];

  /** `reason` continues a sentence that begins with the record's topic or position. */
  constructor(details: InvalidRecordDetails, options?: ErrorOptions) {
    const { topic, position, fields = [], reason } = details;
    const record =
      position === undefined
        ? `A record for topic "${topic}"`
        : `The record at offset ${position.offset} of topic "${topic}", partition ${position.partition},`;
    super({ code: 'HEADGATE_INVALID_RECORD', message: `${record} ${reason}` }, options);
    this.topic = topic;
    this.partition = position?.partition;
    this.offset = position?.offset;
    this.fields = fields;
  }
}

/** Details of an {@link InvalidRecordError}. */
export interface InvalidRecordDetails {
  /** Topic of the record. */
  readonly topic: string;
  /** Position of a record that can't be read. Default: the record can't be written. */
  readonly position?: { readonly partition: number; readonly offset: number };
  /** The invalid fields: `key`, `value`, `header "name"`. Default: the whole record. */
  readonly fields?: readonly string[];
  /** Continues a sentence that begins with the record's topic or position. */
  readonly reason: string;
}
