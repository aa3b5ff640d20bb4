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

/** True when a newer holder of the transactional ID, or a timeout of its transaction, has fenced this producer. */
export function isFenced(error: unknown): boolean {
  return [...chain(error)].some((each) => kindOf(each) === 'fenced');
}

/**
 * Returns the error for records of `topic` that were refused for good, by the broker or before sending; undefined if `error` isn't such a
 * refusal. `messageBytes`: the topic's `max.message.bytes`.
 */
export function refusedRecord(topic: string, messageBytes: number, error: unknown): InvalidRecordError | undefined {
  if (error instanceof RecordTooLargeError) {
    const needed = messageBytesForBatch(error.bytes);
    const reason = `exceeds the topic's max.message.bytes of ${messageBytes}. Raise it on the topic to at least ${needed}.`;
    return new InvalidRecordError({ topic, reason }, { cause: error });
  }
  if (isAnswer(error, 'MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE')) {
    const reason = `was refused as too large. The topic's max.message.bytes was ${messageBytes}, and is lower now: raise it, or start again.`;
    return new InvalidRecordError({ topic, reason }, { cause: error });
  }
  if (!isAnswer(error, 'INVALID_RECORD')) return undefined;
  const reason = 'was refused by the broker. A compacted topic accepts only records with a key.';
  return new InvalidRecordError({ topic, reason }, { cause: error });
}
