import { InvalidRecordError } from '../../topic-errors.ts';
import { chain, isAnswer, kindOf } from './driver-errors.ts';
import { RecordTooLargeError } from '../wire/split-batches.ts';
import { messageBytesForBatch } from '../wire/record-size.ts';

/** True when the brokers refuse this user's token. */
export function refusesToken(error: unknown): boolean {
  return [...chain(error)].some(({ code }) => code === 'HEADGATE_KAFKA_TOKEN_REFUSED');
}

/** `host:port` of the broker whose connection failed or was lost, if the error names it. */
export function brokerOf(error: unknown): string | undefined {
  let address: string | undefined;
  for (const { broker } of chain(error)) if (typeof broker === 'string') address = broker;
  return address;
}

/** True when brokers respond, but none is ready yet. */
export function isNoneReady(error: unknown): boolean {
  return [...chain(error)].some(({ name }) => name === 'NoBrokerReadyError');
}

/** True when a newer holder of the transactional ID, or a timeout of its transaction, has fenced this producer. */
export function isFenced(error: unknown): boolean {
  return [...chain(error)].some((each) => kindOf(each) === 'fenced');
}

/** True when a record is too large for its topic: for the broker, or for the limit that was known before sending. */
export function isTooLarge(error: unknown): boolean {
  return (
    isAnswer(error, 'MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE') || [...chain(error)].some((each) => each instanceof RecordTooLargeError)
  );
}

/**
 * Returns the error for records of `topic` that were refused for good, by the broker or before sending; undefined if `error` isn't such a
 * refusal. `messageBytes`: the topic's `max.message.bytes`.
 */
export function refusedRecord(
  { topic, messageBytes }: { readonly topic: string; readonly messageBytes: number },
  error: unknown,
): InvalidRecordError | undefined {
  if (error instanceof RecordTooLargeError) {
    const needed = messageBytesForBatch(error.bytes);
    const reason = `exceeds the topic's max.message.bytes of ${messageBytes}. Raise it on the topic to at least ${needed}.`;
    return new InvalidRecordError({ topic, reason }, { cause: error });
  }
  if (isTooLarge(error)) {
    const reason = `is larger than the brokers accept, although the topic's max.message.bytes is ${messageBytes}. Raise it on the topic.`;
    return new InvalidRecordError({ topic, reason }, { cause: error });
  }
  if (!isAnswer(error, 'INVALID_RECORD')) return undefined;
  const reason = 'was refused by the broker. A compacted topic accepts only records with a key.';
  return new InvalidRecordError({ topic, reason }, { cause: error });
}
