import { InvalidRecordError } from '../topic-errors.ts';
import { BlockRecordTooLargeError } from './record-block/index.ts';
import { messageBytesForBatch } from './topics/record-room.ts';

/** What kafkajs's errors carry; those of retries hold the last one as their cause. */
interface KafkaJsError extends Error {
  readonly type?: string;
  readonly code?: number | string;
  readonly broker?: unknown;
  readonly cause?: unknown;
}

/** Protocol errors that trying again doesn't mend. */
const FINAL = new Set([
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  'INVALID_TOPIC_EXCEPTION',
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'INVALID_REPLICATION_FACTOR',
  'INVALID_TRANSACTION_TIMEOUT',
  'POLICY_VIOLATION',
  'UNSUPPORTED_VERSION',
  'UNSUPPORTED_COMPRESSION_TYPE',
  'UNSUPPORTED_SASL_MECHANISM',
]);

/** Errors of ours and of the language: they are no fault of a broker's, unless kafkajs stumbles over an answer that didn't come. */
const OWN = new Set(['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError']);

function* chain(error: unknown): Iterable<KafkaJsError> {
  for (let at = error; at instanceof Error; at = at.cause) {
    yield at;
    // Of several topics asked for at once each has its own.
    if ('errors' in at && Array.isArray(at.errors)) for (const each of at.errors) yield* chain(each);
  }
}

/** Whether it may go well when it is tried again: brokers come back, leaders move, time-outs pass. */
export function isTransient(error: unknown): boolean {
  for (const { name, type, code, stack } of chain(error)) {
    if (type !== undefined && FINAL.has(type)) return false;
    if (name === 'KafkaJSSASLAuthenticationError' || name === 'KafkaJSNotImplemented' || (OWN.has(name) && !isThrownInKafkaJs(stack)))
      return false;
    if (typeof code === 'string' && (code.startsWith('HEADGATE_') || code.startsWith('ERR_TLS') || code.startsWith('ERR_SSL')))
      return false;
  }
  return error instanceof Error;
}

/** Whether the brokers don't let this user in. */
export function refusesUser(error: unknown): boolean {
  return [...chain(error)].some(({ name, code }) => name === 'KafkaJSSASLAuthenticationError' || code === 'HEADGATE_KAFKA_TOKEN_REFUSED');
}

/** Whether the brokers' answer is no, whatever is tried. */
export function refusesForGood(error: unknown): boolean {
  return [...chain(error)].some(({ type }) => type !== undefined && FINAL.has(type));
}

/** The topic an error is about, where it says so. */
export function refusedTopic(error: unknown): string | undefined {
  for (const each of chain(error)) if ('topic' in each && typeof each.topic === 'string') return each.topic;
  return undefined;
}

/** `host:port` of the broker an error is about, where it says so: of a connection that was not made, or was lost. */
export function brokerOf(error: unknown): string | undefined {
  let address: string | undefined;
  for (const { broker } of chain(error)) if (typeof broker === 'string') address = broker;
  return address;
}

/** By the innermost call of its stack. */
function isThrownInKafkaJs(stack: string | undefined): boolean {
  return /^\s+at .*\bkafkajs\b/mu.exec(stack ?? '')?.index === /^\s+at /mu.exec(stack ?? '')?.index;
}

/** Whether a broker knows no such topic or partition, or one of those named beside it. */
export function isTopicUnknown(error: unknown): boolean {
  return [...chain(error)].some(({ type }) => type === 'UNKNOWN_TOPIC_OR_PARTITION' || type === 'OPERATION_NOT_ATTEMPTED');
}

/** Whether the brokers allow shorter transactions only. */
export function isTimeoutRefused(error: unknown): boolean {
  return [...chain(error)].some(({ type }) => type === 'INVALID_TRANSACTION_TIMEOUT');
}

/** Whether a newer holder of the transactional id, or a time-out of its transaction, has put this producer out. */
export function isFenced(error: unknown): boolean {
  for (const { type, code } of chain(error)) {
    if (type === 'INVALID_PRODUCER_EPOCH' || type === 'PRODUCER_FENCED' || code === 47 || code === 90) return true;
  }
  return false;
}

/** Whether a broker takes smaller batches only. */
export function isTooLarge(error: unknown): boolean {
  return [...chain(error)].some(({ type }) => type === 'MESSAGE_TOO_LARGE' || type === 'RECORD_LIST_TOO_LARGE');
}

/** Why records of `topic`, which takes batches of `messageBytes`, were refused for good, by the broker or before they were sent, where they were. */
export function refusedRecord(
  { topic, messageBytes }: { readonly topic: string; readonly messageBytes: number },
  error: unknown,
): InvalidRecordError | undefined {
  if (error instanceof BlockRecordTooLargeError) {
    const needed = messageBytesForBatch(error.bytes);
    const reason = `is larger than the topic takes: its max.message.bytes is ${messageBytes}, and has to be at least ${needed}. Set that on the topic.`;
    return new InvalidRecordError({ topic, reason }, { cause: error });
  }
  if (isTooLarge(error)) {
    const reason = `is larger than the brokers take, though max.message.bytes of the topic is ${messageBytes}. Raise that.`;
    return new InvalidRecordError({ topic, reason }, { cause: error });
  }
  for (const { type } of chain(error)) {
    if (type === 'INVALID_RECORD') {
      return new InvalidRecordError(
        { topic, reason: 'was refused by the broker. A compacted topic takes no record without a key.' },
        { cause: error },
      );
    }
  }
  return undefined;
}

/** The last cause in a line of people's words: what kafkajs nests three deep. Our own errors say more than their causes. */
export function failureText(error: unknown): string {
  let text = String(error);
  for (const { message, type, code } of chain(error)) {
    text = type === undefined ? message : `${message} (${type})`;
    if (typeof code === 'string' && code.startsWith('HEADGATE_')) break;
  }
  return text.trim();
}
