/** The cases of a {@link TopicLogError}. */
export type TopicLogErrorCode =
  /** The log can't be opened: not there, not one of ours, or not permitted. */
  | 'HEADGATE_TOPIC_LOG_OPEN'
  /** A newer release has written the log. */
  | 'HEADGATE_TOPIC_LOG_VERSION'
  /** There is no space to write. The transaction wrote nothing, and writing works again when there is space. */
  | 'HEADGATE_TOPIC_LOG_FULL'
  /** The log is damaged: it does not hold what was written. */
  | 'HEADGATE_TOPIC_LOG_CORRUPT'
  /** The log's file was deleted, moved or replaced while the log was open. Nothing is acknowledged since then. */
  | 'HEADGATE_TOPIC_LOG_GONE'
  /** Another process kept the log locked for longer than this one waits. Nothing was written. */
  | 'HEADGATE_TOPIC_LOG_BUSY'
  /** The log, or the lane of it, was closed before or during the call. */
  | 'HEADGATE_TOPIC_LOG_CLOSED'
  /** The log stopped for a reason outside of it, which is the cause. Opened again it shows whether a write in flight is there. */
  | 'HEADGATE_TOPIC_LOG_FAILED'
  /** `LaneHeldError` */
  | 'HEADGATE_LANE_HELD'
  /** `LaneLostError` */
  | 'HEADGATE_LANE_LOST'
  /** `TopicMismatchError` */
  | 'HEADGATE_TOPIC_MISMATCH'
  /** `TopicUnknownError` */
  | 'HEADGATE_TOPIC_UNKNOWN'
  /** `TopicLostError` */
  | 'HEADGATE_TOPIC_LOST'
  /** `InvalidRecordError` */
  | 'HEADGATE_INVALID_RECORD'
  /** `MissingRightError` */
  | 'HEADGATE_MISSING_RIGHT'
  /** A group has active members, and brokers accept its offsets only from them. */
  | 'HEADGATE_GROUP_IN_USE'
  /** The group is in use by consumers of another kind, so this process can't join it. */
  | 'HEADGATE_GROUP_TAKEN'
  /** The group's members have a different configuration than this process: it gets no lanes and has left. */
  | 'HEADGATE_GROUP_DISAGREEMENT'
  /** The brokers refuse, and a retry doesn't help. */
  | 'HEADGATE_BROKERS_REFUSE'
  /** The brokers refuse this name and password. */
  | 'HEADGATE_KAFKA_CREDENTIALS_REFUSED'
  /** The brokers refuse this token. */
  | 'HEADGATE_KAFKA_TOKEN_REFUSED'
  /** No broker answers at the address that it advertises. */
  | 'HEADGATE_KAFKA_ADVERTISED_ADDRESS'
  /** A batch of records that no fetching again makes readable. */
  | 'HEADGATE_UNREADABLE_BATCH';

/** Options of a {@link TopicLogError}. */
export interface TopicLogErrorOptions {
  /** Names the case. */
  readonly code: TopicLogErrorCode;
  /** Says what happened, where, and what to do. */
  readonly message: string;
  /** Default false. */
  readonly retryable?: boolean;
}

/** Why a log, or one of its topics, lanes or groups, refuses or has failed. Errors with more details are its subclasses. */
export class TopicLogError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name: string = 'TopicLogError';
  /** Identifies the case. A new release may add more. */
  readonly code: TopicLogErrorCode;
  /** True if the same call may succeed later without a change of the program. */
  readonly retryable: boolean;

  constructor({ code, message, retryable = false }: TopicLogErrorOptions, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryable = retryable;
  }
}

/** `what` begins the sentence: `The topic log /data/headgate.db`. */
export function closedError(what: string): TopicLogError {
  return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_CLOSED', message: `${what} is closed. Open it again to continue.` });
}
