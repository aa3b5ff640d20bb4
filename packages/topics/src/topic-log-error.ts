/** The cases of a {@link TopicLogError}. */
export type TopicLogErrorCode =
  /** The log can't be opened as requested, or a backup can't be created. The message says why. */
  | 'HEADGATE_TOPIC_LOG_OPEN'
  /** The log has another version of the schema than this release: another release has written it, or it was changed. */
  | 'HEADGATE_TOPIC_LOG_VERSION'
  /** There is no space to write. The transaction wrote nothing, and a later one can succeed when there is space. */
  | 'HEADGATE_TOPIC_LOG_FULL'
  /** The log is damaged: it doesn't contain what was written. */
  | 'HEADGATE_TOPIC_LOG_CORRUPT'
  /** A file of the log was deleted, moved or replaced while the log was open. The log acknowledges nothing more. */
  | 'HEADGATE_TOPIC_LOG_GONE'
  /** Another process kept the log locked for longer than this process waits. Nothing was written. */
  | 'HEADGATE_TOPIC_LOG_BUSY'
  /** The log or the lane was closed before or during the call. */
  | 'HEADGATE_TOPIC_LOG_CLOSED'
  /** The log failed for an external reason, which the message names. Reopen it to see whether a write in flight succeeded. */
  | 'HEADGATE_TOPIC_LOG_FAILED'
  /** See `LaneHeldError`. */
  | 'HEADGATE_LANE_HELD'
  /** See `LaneLostError`. */
  | 'HEADGATE_LANE_LOST'
  /** See `TopicMismatchError`. */
  | 'HEADGATE_TOPIC_MISMATCH'
  /** See `TopicUnknownError`. */
  | 'HEADGATE_TOPIC_UNKNOWN'
  /** See `TopicLostError`. */
  | 'HEADGATE_TOPIC_LOST'
  /** See `InvalidRecordError`. */
  | 'HEADGATE_INVALID_RECORD'
  /** See `MissingRightError`. */
  | 'HEADGATE_MISSING_RIGHT'
  /** The group has active members, and brokers accept offsets only from them. */
  | 'HEADGATE_GROUP_IN_USE'
  /** The group is in use by consumers of another kind, so this process can't join it. */
  | 'HEADGATE_GROUP_TAKEN'
  /** The group's members have a different configuration than this process, so this process isn't a member. */
  | 'HEADGATE_GROUP_DISAGREEMENT'
  /** The brokers refuse the request, and a retry doesn't help. */
  | 'HEADGATE_BROKERS_REFUSE'
  /** The brokers refuse these credentials. */
  | 'HEADGATE_KAFKA_CREDENTIALS_REFUSED'
  /** The brokers refuse this token. */
  | 'HEADGATE_KAFKA_TOKEN_REFUSED'
  /** A batch of records can't be read, even if it is fetched again. */
  | 'HEADGATE_UNREADABLE_BATCH';

/** Options of a {@link TopicLogError}. */
export interface TopicLogErrorOptions {
  /** Identifies the case. */
  readonly code: TopicLogErrorCode;
  /** Says what happened, where, and what to do. */
  readonly message: string;
  /** True if the same call can succeed later without a change of the program or of a user's rights. Default false. */
  readonly retryable?: boolean;
}

/** An error of a log, or of one of its topics, lanes or groups. Subclasses have more details. */
export class TopicLogError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name: string = 'TopicLogError';
  /** Identifies the case. A new release can add cases. */
  readonly code: TopicLogErrorCode;
  /** True if the same call can succeed later without a change of the program or of a user's rights. */
  readonly retryable: boolean;

  constructor({ code, message, retryable = false }: TopicLogErrorOptions, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryable = retryable;
  }
}

/** Creates the error of a closed log, lane or transaction. `what` is the subject of its message, such as `The topic log /data/headgate.db`. */
export function closedError(what: string): TopicLogError {
  return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_CLOSED', message: `${what} is closed. Open it again to continue.` });
}
