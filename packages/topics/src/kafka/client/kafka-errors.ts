/**
 * What an error code of Kafka's protocol means for the client that gets it.
 *
 * - `refresh`: the same request can succeed with fresh metadata, for example after a change of leaders.
 * - `retry`: a transaction is still ending, or a coordinator is starting. The same request can succeed within a moment.
 * - `later`: the same request can succeed later.
 * - `recreate`: only a new producer, or a new member of the group, can continue.
 * - `fenced`: a newer producer of the transactional ID has taken over, or a transaction has timed out.
 * - `right`: someone must grant this user a right.
 * - `record`: the broker doesn't accept this record.
 * - `final`: a retry doesn't help.
 */
export type ErrorKind = 'refresh' | 'retry' | 'later' | 'recreate' | 'fenced' | 'right' | 'record' | 'final';

export interface Refusal {
  readonly kind: 'final';
  /** What happened. Default: kafkajs's text, in which a setting can have another name than in the brokers' configuration. */
  readonly text?: string;
  /** What to do, in a whole sentence. */
  readonly cure: string;
}

export const KAFKA_ERRORS: Readonly<Record<string, ErrorKind | Refusal>> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'refresh',
  LEADER_NOT_AVAILABLE: 'refresh',
  NOT_LEADER_FOR_PARTITION: 'refresh',
  REPLICA_NOT_AVAILABLE: 'refresh',
  GROUP_COORDINATOR_NOT_AVAILABLE: 'refresh',
  NOT_COORDINATOR_FOR_GROUP: 'refresh',
  NOT_CONTROLLER: 'refresh',
  LISTENER_NOT_FOUND: 'refresh',
  FENCED_LEADER_EPOCH: 'refresh',
  UNKNOWN_LEADER_EPOCH: 'refresh',
  KAFKA_STORAGE_ERROR: 'refresh',
  PREFERRED_LEADER_NOT_AVAILABLE: 'refresh',
  ELIGIBLE_LEADERS_NOT_AVAILABLE: 'refresh',
  UNKNOWN_TOPIC_ID: 'refresh',
  INCONSISTENT_TOPIC_ID: 'refresh',
  NEW_LEADER_ELECTED: 'refresh',
  REBOOTSTRAP_REQUIRED: 'refresh',

  GROUP_LOAD_IN_PROGRESS: 'retry',
  CONCURRENT_TRANSACTIONS: 'retry',

  UNKNOWN: 'later',
  BROKER_NOT_AVAILABLE: 'later',
  STALE_CONTROLLER_EPOCH: 'later',
  STALE_BROKER_EPOCH: 'later',
  OFFSET_OUT_OF_RANGE: 'later',
  // The checksum of a batch doesn't match, for example because the network changed its bytes.
  CORRUPT_MESSAGE: 'later',
  REQUEST_TIMED_OUT: 'later',
  NETWORK_EXCEPTION: 'later',
  NOT_ENOUGH_REPLICAS: 'later',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'later',
  FETCH_SESSION_ID_NOT_FOUND: 'later',
  INVALID_FETCH_SESSION_EPOCH: 'later',
  FETCH_SESSION_TOPIC_ID_ERROR: 'later',
  OFFSET_NOT_AVAILABLE: 'later',
  ELECTION_NOT_NEEDED: 'later',
  UNSTABLE_OFFSET_COMMIT: 'later',
  THROTTLING_QUOTA_EXCEEDED: 'later',
  // Another process created the topic, or added the partitions, at the same time. The next attempt finds them.
  TOPIC_ALREADY_EXISTS: 'later',
  INVALID_PARTITIONS: 'later',
  // Partitions can be added after the current reassignment.
  REASSIGNMENT_IN_PROGRESS: 'later',
  // kafkajs authenticated again too early, and lost the connection. The next attempt uses a new one.
  ILLEGAL_SASL_STATE: 'later',

  OUT_OF_ORDER_SEQUENCE_NUMBER: 'recreate',
  DUPLICATE_SEQUENCE_NUMBER: 'recreate',
  INVALID_TXN_STATE: 'recreate',
  INVALID_PRODUCER_ID_MAPPING: 'recreate',
  TRANSACTION_COORDINATOR_FENCED: 'recreate',
  UNKNOWN_PRODUCER_ID: 'recreate',
  TRANSACTION_ABORTABLE: 'recreate',
  ILLEGAL_GENERATION: 'recreate',
  UNKNOWN_MEMBER_ID: 'recreate',
  REBALANCE_IN_PROGRESS: 'recreate',
  MEMBER_ID_REQUIRED: 'recreate',

  INVALID_PRODUCER_EPOCH: 'fenced',
  PRODUCER_FENCED: 'fenced',

  TOPIC_AUTHORIZATION_FAILED: 'right',
  GROUP_AUTHORIZATION_FAILED: 'right',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'right',
  CLUSTER_AUTHORIZATION_FAILED: 'right',

  MESSAGE_TOO_LARGE: 'record',
  RECORD_LIST_TOO_LARGE: 'record',
  INVALID_RECORD: 'record',
  INVALID_TIMESTAMP: {
    kind: 'final',
    cure:
      "Compare the clocks of this machine and of the brokers. If both are right, raise the topic's message.timestamp.before.max.ms and " +
      'message.timestamp.after.max.ms.',
  },

  SASL_AUTHENTICATION_FAILED: { kind: 'final', cure: 'Check the credentials (sasl).' },
  UNSUPPORTED_SASL_MECHANISM: {
    kind: 'final',
    cure: "Choose a mechanism that the brokers' listener enables (sasl.enabled.mechanisms).",
  },
  INVALID_TRANSACTION_TIMEOUT: {
    kind: 'final',
    text: 'the transaction timeout of 1 s exceeds the maximum of the brokers',
    cure: 'Raise transaction.max.timeout.ms on the brokers.',
  },
  INVALID_SESSION_TIMEOUT: {
    kind: 'final',
    cure: "Configure group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers to allow the group's session timeout.",
  },
  INVALID_GROUP_ID: { kind: 'final', cure: 'Choose another name for the group.' },
  INCONSISTENT_GROUP_PROTOCOL: { kind: 'final', cure: 'Choose another group: other kinds of consumers use this one.' },
  GROUP_MAX_SIZE_REACHED: { kind: 'final', cure: 'Start fewer processes of the group, or raise group.max.size on the brokers.' },
  INVALID_TOPIC_EXCEPTION: {
    kind: 'final',
    cure: 'Use only letters, digits, ".", "_" and "-" in topic names, and at most 249 characters.',
  },
  POLICY_VIOLATION: {
    kind: 'final',
    cure: "Create the topics yourself, as the brokers' policy (create.topic.policy.class.name) requires.",
  },
  UNSUPPORTED_COMPRESSION_TYPE: { kind: 'final', cure: 'Choose another compression.' },
  UNSUPPORTED_VERSION: {
    kind: 'final',
    cure: "Upgrade the brokers, or connect to other ones: these don't support the required protocol version.",
  },
  UNSUPPORTED_FOR_MESSAGE_FORMAT: {
    kind: 'final',
    cure: 'Raise log.message.format.version of the brokers and of the topic: transactions need the format of Kafka 0.11 or later.',
  },
  INVALID_REPLICATION_FACTOR: { kind: 'final', cure: 'Set replication to at most the number of running brokers.' },
  INVALID_CONFIG: 'final',
  INVALID_FETCH_SIZE: 'final',
  OFFSET_METADATA_TOO_LARGE: 'final',
  INVALID_REQUIRED_ACKS: 'final',
  INVALID_COMMIT_OFFSET_SIZE: 'final',
  INVALID_REPLICA_ASSIGNMENT: 'final',
  INVALID_REQUEST: 'final',
  SECURITY_DISABLED: 'final',
  OPERATION_NOT_ATTEMPTED: 'final',
  LOG_DIR_NOT_FOUND: 'final',
  DELEGATION_TOKEN_AUTH_DISABLED: 'final',
  DELEGATION_TOKEN_NOT_FOUND: 'final',
  DELEGATION_TOKEN_OWNER_MISMATCH: 'final',
  DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: 'final',
  DELEGATION_TOKEN_AUTHORIZATION_FAILED: 'final',
  DELEGATION_TOKEN_EXPIRED: 'final',
  INVALID_PRINCIPAL_TYPE: 'final',
  NON_EMPTY_GROUP: 'final',
  GROUP_ID_NOT_FOUND: 'final',
  TOPIC_DELETION_DISABLED: 'final',
  FENCED_INSTANCE_ID: 'final',
  NO_REASSIGNMENT_IN_PROGRESS: 'final',
  GROUP_SUBSCRIBED_TO_TOPIC: 'final',
  TRANSACTIONAL_ID_NOT_FOUND: 'final',
};

/** Errors that the driver's requests can get and that kafkajs has no name for, by code. */
const NEWER: Readonly<Record<number, { readonly type: string; readonly message: string }>> = {
  89: { type: 'THROTTLING_QUOTA_EXCEEDED', message: 'The quota for such requests is used up' },
  90: { type: 'PRODUCER_FENCED', message: 'There is a newer producer with the same transactional id which fences the current one' },
  100: { type: 'UNKNOWN_TOPIC_ID', message: 'This server does not host this topic ID' },
  103: { type: 'INCONSISTENT_TOPIC_ID', message: "The log's topic ID did not match the topic ID in the request" },
  105: { type: 'TRANSACTIONAL_ID_NOT_FOUND', message: 'The transactional id could not be found' },
  106: { type: 'FETCH_SESSION_TOPIC_ID_ERROR', message: 'The fetch session encountered inconsistent topic ID usage' },
  108: { type: 'NEW_LEADER_ELECTED', message: 'The request failed because a new leader was elected' },
  120: { type: 'TRANSACTION_ABORTABLE', message: 'The transaction has to be aborted' },
  129: { type: 'REBOOTSTRAP_REQUIRED', message: 'The client must restart from the addresses in its configuration' },
};

export function newerError(code: unknown): { readonly type: string; readonly message: string } | undefined {
  return typeof code === 'number' ? NEWER[code] : undefined;
}

export function errorKind(type: string): ErrorKind | undefined {
  const known = KAFKA_ERRORS[type];
  return typeof known === 'object' ? known.kind : known;
}
