/**
 * What to do about an error code of Kafka's protocol.
 *
 * - `elsewhere`: the same request can succeed with fresh metadata, for example at a new leader.
 * - `again`: a transaction is still ending, or a coordinator is starting. The same request can succeed within a moment.
 * - `later`: the work can succeed later, with new requests.
 * - `fenced`: a newer producer of the transactional ID has taken over, or a transaction has timed out.
 * - `final`: a retry doesn't help.
 */
export type ErrorKind = 'elsewhere' | 'again' | 'later' | 'fenced' | 'final';

export interface KafkaError {
  readonly code: number;
  readonly kind: ErrorKind;
  /** What happened. Default: the text of kafkajs's list. */
  readonly text?: string;
  /** What to do, in a whole sentence. */
  readonly cure?: string;
}

const ERRORS = {
  OFFSET_OUT_OF_RANGE: { code: 1, kind: 'later' },
  // The checksum of a batch doesn't match, for example because the network changed its bytes.
  CORRUPT_MESSAGE: { code: 2, kind: 'later' },
  UNKNOWN_TOPIC_OR_PARTITION: { code: 3, kind: 'elsewhere' },
  LEADER_NOT_AVAILABLE: { code: 5, kind: 'elsewhere' },
  NOT_LEADER_OR_FOLLOWER: { code: 6, kind: 'elsewhere' },
  REQUEST_TIMED_OUT: { code: 7, kind: 'later' },
  BROKER_NOT_AVAILABLE: { code: 8, kind: 'later' },
  REPLICA_NOT_AVAILABLE: { code: 9, kind: 'elsewhere' },
  MESSAGE_TOO_LARGE: { code: 10, kind: 'final' },
  NETWORK_EXCEPTION: { code: 13, kind: 'later' },
  COORDINATOR_LOAD_IN_PROGRESS: { code: 14, kind: 'again' },
  COORDINATOR_NOT_AVAILABLE: {
    code: 15,
    kind: 'elsewhere',
    text: 'the brokers respond, but they have no coordinator for the group or the transactions yet, as for a moment after their first start; if this lasts, compare the number of brokers with offsets.topic.replication.factor and transaction.state.log.replication.factor',
  },
  NOT_COORDINATOR: { code: 16, kind: 'elsewhere' },
  INVALID_TOPIC_EXCEPTION: {
    code: 17,
    kind: 'final',
    cure: 'Use only letters, digits, ".", "_" and "-" in topic names, at most 249 characters, and no name that differs from another one only in "." and "_".',
  },
  RECORD_LIST_TOO_LARGE: { code: 18, kind: 'final' },
  NOT_ENOUGH_REPLICAS: { code: 19, kind: 'later' },
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: { code: 20, kind: 'later' },
  ILLEGAL_GENERATION: { code: 22, kind: 'later' },
  INCONSISTENT_GROUP_PROTOCOL: { code: 23, kind: 'final', cure: 'Choose another group: other kinds of consumers use this one.' },
  INVALID_GROUP_ID: { code: 24, kind: 'final', cure: 'Choose another name for the group.' },
  UNKNOWN_MEMBER_ID: { code: 25, kind: 'later' },
  INVALID_SESSION_TIMEOUT: {
    code: 26,
    kind: 'final',
    cure: 'On the brokers, set group.min.session.timeout.ms to at most the session timeout (6000 by default), and group.max.session.timeout.ms to at least that.',
  },
  REBALANCE_IN_PROGRESS: { code: 27, kind: 'later' },
  INVALID_TIMESTAMP: {
    code: 32,
    kind: 'final',
    cure: "Compare the clocks of this machine and of the brokers. If both are right, raise the topic's message.timestamp.before.max.ms and message.timestamp.after.max.ms.",
  },
  UNSUPPORTED_SASL_MECHANISM: {
    code: 33,
    kind: 'final',
    cure: "Choose a mechanism that the brokers' listener enables (sasl.enabled.mechanisms).",
  },
  // The connection authenticated at the wrong time, and is lost. The next attempt uses a new one.
  ILLEGAL_SASL_STATE: { code: 34, kind: 'later' },
  UNSUPPORTED_VERSION: {
    code: 35,
    kind: 'final',
    cure: 'Upgrade the brokers, or connect to other ones: Headgate needs Kafka 3.0 or later.',
  },
  // Another process created the topic, or added the partitions, at the same time. The next attempt finds them.
  TOPIC_ALREADY_EXISTS: { code: 36, kind: 'later' },
  INVALID_PARTITIONS: { code: 37, kind: 'later' },
  INVALID_REPLICATION_FACTOR: { code: 38, kind: 'final', cure: 'Set replication to at most the number of running brokers.' },
  NOT_CONTROLLER: { code: 41, kind: 'elsewhere' },
  POLICY_VIOLATION: {
    code: 44,
    kind: 'final',
    cure: "Create the topics yourself, as the brokers' policy (create.topic.policy.class.name) requires.",
  },
  OUT_OF_ORDER_SEQUENCE_NUMBER: { code: 45, kind: 'later' },
  DUPLICATE_SEQUENCE_NUMBER: { code: 46, kind: 'later' },
  INVALID_PRODUCER_EPOCH: { code: 47, kind: 'fenced' },
  INVALID_TXN_STATE: { code: 48, kind: 'later' },
  INVALID_PRODUCER_ID_MAPPING: { code: 49, kind: 'later' },
  INVALID_TRANSACTION_TIMEOUT: {
    code: 50,
    kind: 'final',
    text: 'the transaction timeout exceeds the maximum of the brokers',
    cure: 'Raise transaction.max.timeout.ms on the brokers to at least that timeout (60000 by default).',
  },
  CONCURRENT_TRANSACTIONS: {
    code: 51,
    kind: 'again',
    text: "a broker hasn't ended a transaction yet; if this lasts, run check and see the broker logs",
  },
  TRANSACTION_COORDINATOR_FENCED: { code: 52, kind: 'later' },
  KAFKA_STORAGE_ERROR: { code: 56, kind: 'elsewhere' },
  SASL_AUTHENTICATION_FAILED: { code: 58, kind: 'final', cure: 'Check the credentials (sasl).' },
  UNKNOWN_PRODUCER_ID: { code: 59, kind: 'later' },
  // Partitions can be added after the current reassignment.
  REASSIGNMENT_IN_PROGRESS: { code: 60, kind: 'later' },
  FETCH_SESSION_ID_NOT_FOUND: { code: 70, kind: 'later' },
  INVALID_FETCH_SESSION_EPOCH: { code: 71, kind: 'later' },
  LISTENER_NOT_FOUND: { code: 72, kind: 'elsewhere' },
  FENCED_LEADER_EPOCH: { code: 74, kind: 'elsewhere' },
  UNKNOWN_LEADER_EPOCH: { code: 75, kind: 'elsewhere' },
  UNSUPPORTED_COMPRESSION_TYPE: { code: 76, kind: 'final', cure: 'Choose another compression.' },
  OFFSET_NOT_AVAILABLE: { code: 78, kind: 'later' },
  MEMBER_ID_REQUIRED: { code: 79, kind: 'later' },
  GROUP_MAX_SIZE_REACHED: {
    code: 81,
    kind: 'final',
    cure: 'Start fewer processes of the group, or raise group.max.size on the brokers.',
  },
  INVALID_RECORD: { code: 87, kind: 'final' },
  UNSTABLE_OFFSET_COMMIT: { code: 88, kind: 'later' },
  THROTTLING_QUOTA_EXCEEDED: { code: 89, kind: 'later', text: 'the quota for such requests is used up' },
  PRODUCER_FENCED: { code: 90, kind: 'fenced', text: 'a newer producer uses the same transactional ID' },
  UNKNOWN_TOPIC_ID: { code: 100, kind: 'elsewhere', text: "the broker doesn't have a topic with this ID" },
  INCONSISTENT_TOPIC_ID: { code: 103, kind: 'elsewhere', text: 'the topic has another ID at this broker' },
  NEW_LEADER_ELECTED: { code: 108, kind: 'elsewhere', text: 'the partition has a new leader' },
  TRANSACTION_ABORTABLE: { code: 120, kind: 'later', text: 'the transaction must be aborted' },
  REBOOTSTRAP_REQUIRED: { code: 129, kind: 'elsewhere', text: 'the client must connect to the configured addresses again' },
} as const;

/** Names of errors in Kafka's protocol. */
export type KafkaErrorName = keyof typeof ERRORS;

/** Errors by their name in Kafka's protocol ("Error Codes"). Each error that isn't listed is final. */
export const KAFKA_ERRORS: Readonly<Record<KafkaErrorName, KafkaError>> = ERRORS;

const BY_CODE = new Map<number, KafkaError & { readonly name: string }>(
  Object.entries(KAFKA_ERRORS).map(([name, error]) => [error.code, { name, ...error }]),
);

/** The row of an error code, which is final if the table doesn't have it. */
export function kafkaError(code: number): KafkaError & { readonly name?: string } {
  return BY_CODE.get(code) ?? { code, kind: 'final' };
}
