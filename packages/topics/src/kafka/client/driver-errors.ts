import { TopicLogError } from '../../topic-log-error.ts';
import { MissingRightError } from '../../missing-right-error.ts';

/** How it stands with a fault: it may pass by itself, a right has to be given first, or trying again doesn't help. */
export type Verdict = 'passes' | 'right' | 'final';

/** Properties of kafkajs's errors; those of retries hold the last one as their cause. */
interface KafkaJsError extends Error {
  /** The error's name in Kafka's protocol, where a broker answered it. */
  readonly type?: string;
  readonly code?: number | string;
  /** The topic that an answer is about, where it is about one. */
  readonly topic?: string;
  /** `host:port`, of a connection. */
  readonly broker?: unknown;
  /** Decides in kafkajs whether it retries. */
  readonly retriable?: boolean;
  readonly cause?: unknown;
}

/** A final answer's meaning for the user. */
interface Refusal {
  /** Default: kafkajs's words, which may name a setting as no broker does. */
  readonly says?: string;
  /** A sentence. */
  readonly cure: string;
}

/**
 * Answers that Headgate judges otherwise than kafkajs's `retriable` does, or explains. Any other answer passes where kafkajs retries it,
 * and is final where it doesn't.
 */
const ANSWERS: Readonly<Record<string, Verdict | Refusal>> = {
  // kafkajs gives these up. A new producer, which fences the old one and reads what is there, goes on.
  OUT_OF_ORDER_SEQUENCE_NUMBER: 'passes',
  DUPLICATE_SEQUENCE_NUMBER: 'passes',
  INVALID_PRODUCER_EPOCH: 'passes',
  PRODUCER_FENCED: 'passes',
  TRANSACTION_ABORTABLE: 'passes',
  INVALID_TXN_STATE: 'passes',
  INVALID_PRODUCER_ID_MAPPING: 'passes',
  TRANSACTION_COORDINATOR_FENCED: 'passes',
  UNKNOWN_PRODUCER_ID: 'passes',
  // A new member of the group goes on.
  ILLEGAL_GENERATION: 'passes',
  UNKNOWN_MEMBER_ID: 'passes',
  REBALANCE_IN_PROGRESS: 'passes',
  MEMBER_ID_REQUIRED: 'passes',
  // A broker that starts, stops or lags behind its cluster.
  UNKNOWN: 'passes',
  BROKER_NOT_AVAILABLE: 'passes',
  STALE_CONTROLLER_EPOCH: 'passes',
  STALE_BROKER_EPOCH: 'passes',
  OFFSET_OUT_OF_RANGE: 'passes',
  // Another process of the group has made the topic, or added the partitions, first: a second look shows it.
  TOPIC_ALREADY_EXISTS: 'passes',
  INVALID_PARTITIONS: 'passes',
  // Partitions can be added when others have been moved.
  REASSIGNMENT_IN_PROGRESS: 'passes',
  // kafkajs begins to authenticate again on a connection where it has timed out; the next connection is a new one.
  ILLEGAL_SASL_STATE: 'passes',
  // Codes of newer brokers, among them quotas (89) and fences (90): kafkajs knows nothing of them.
  KAFKAJS_UNKNOWN_ERROR_CODE: 'passes',

  TOPIC_AUTHORIZATION_FAILED: 'right',
  GROUP_AUTHORIZATION_FAILED: 'right',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'right',
  CLUSTER_AUTHORIZATION_FAILED: 'right',

  SASL_AUTHENTICATION_FAILED: { cure: 'Check the credentials (sasl).' },
  UNSUPPORTED_SASL_MECHANISM: { cure: "Choose a mechanism that the brokers' listener enables (sasl.enabled.mechanisms)." },
  INVALID_TRANSACTION_TIMEOUT: { says: 'a transaction may not last 1 s', cure: 'Raise transaction.max.timeout.ms on the brokers.' },
  INVALID_SESSION_TIMEOUT: { cure: "Let group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers allow the group's." },
  INVALID_GROUP_ID: { cure: 'Choose another name for the group.' },
  GROUP_MAX_SIZE_REACHED: { cure: 'Start fewer processes of the group, or raise group.max.size on the brokers.' },
  INVALID_TOPIC_EXCEPTION: { cure: 'Name a topic by letters, digits, ".", "_" and "-", 249 at most.' },
  POLICY_VIOLATION: { cure: "Make the topics yourself, as the brokers' policy (create.topic.policy.class.name) wants them." },
  UNSUPPORTED_COMPRESSION_TYPE: { cure: 'Choose another compression.' },
  INVALID_TIMESTAMP: { cure: "Set this machine's clock: records are stamped too far from the brokers' time." },
};

/**
 * kafkajs's own faults that a new connection doesn't fix. kafkajs gives up at others too, but those concern one client object, and each
 * fault gets a new one.
 */
const FINAL_FAULTS: ReadonlySet<string> = new Set([
  'KafkaJSSASLAuthenticationError',
  'KafkaJSNotImplemented',
  'KafkaJSServerDoesNotSupportApiKey',
]);

/** Errors of ours and of the language: they are no fault of a broker's, unless kafkajs stumbles over an answer that didn't come. */
const OWN = new Set(['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError']);

/** An error, its causes, and the errors of a request about several topics. */
export function* chain(error: unknown): Iterable<KafkaJsError> {
  for (let at = error; at instanceof Error; at = at.cause) {
    yield at;
    if ('errors' in at && Array.isArray(at.errors)) for (const each of at.errors) yield* chain(each);
  }
}

export function verdictOf(error: unknown): Verdict {
  for (const each of chain(error)) {
    if (each instanceof MissingRightError) return 'right';
    const { name, type, code, retriable, stack } = each;
    const verdict = type === undefined ? 'passes' : verdictOfAnswer(type, retriable);
    if (verdict !== 'passes') return verdict;
    if (FINAL_FAULTS.has(name) || (OWN.has(name) && !isThrownInKafkaJs(stack))) return 'final';
    if (typeof code === 'string' && (code.startsWith('HEADGATE_') || code.startsWith('ERR_TLS') || code.startsWith('ERR_SSL')))
      return 'final';
  }
  return error instanceof Error ? 'passes' : 'final';
}

function verdictOfAnswer(type: string, retriable: boolean | undefined): Verdict {
  const known = ANSWERS[type];
  if (known === undefined) return retriable === false ? 'final' : 'passes';
  return typeof known === 'string' ? known : 'final';
}

/** By the innermost call of its stack. */
function isThrownInKafkaJs(stack: string | undefined): boolean {
  return /^\s+at .*\bkafkajs\b/mu.exec(stack ?? '')?.index === /^\s+at /mu.exec(stack ?? '')?.index;
}

/** The last cause in a line of people's words: what kafkajs nests three deep. Our own errors say more than their causes. */
export function failureText(error: unknown): string {
  let text = String(error);
  for (const { message, type, code } of chain(error)) {
    if (isOurs(code)) return message;
    text = type === undefined ? message : `${message} (${type})`;
  }
  return text.trim();
}

/**
 * Gives the error that the driver throws where waiting doesn't help: one with a message for people, or, unchanged, an error of ours or of
 * the language.
 */
export function driverError(error: unknown): unknown {
  for (const each of chain(error)) {
    if (isOurs(each.code)) return each;
    if (each.type !== undefined || FINAL_FAULTS.has(each.name)) {
      const message = `The brokers refuse: ${refusalText(each)}`;
      return new TopicLogError({ code: 'HEADGATE_BROKERS_REFUSE', message }, { cause: error });
    }
  }
  return error;
}

/** Why the brokers refuse for good, and what to do, where they do. */
export function refusal(error: unknown): string | undefined {
  const told = verdictOf(error) === 'final' ? driverError(error) : undefined;
  return told instanceof Error && 'code' in told && isOurs(told.code) ? told.message : undefined;
}

/** The same of one answer. */
export function refusalText(answer: KafkaJsError): string {
  const known = ANSWERS[answer.type ?? ''];
  const { says = failureText(answer), cure } = typeof known === 'object' ? known : { cure: 'The logs of the brokers may say more.' };
  return `${says.replace(/\.$/u, '')}. ${cure}`;
}

function isOurs(code: unknown): boolean {
  return typeof code === 'string' && code.startsWith('HEADGATE_');
}
