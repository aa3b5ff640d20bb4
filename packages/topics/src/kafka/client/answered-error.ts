import { type MissingRight, MissingRightError, type ResourceKind } from '../../missing-right-error.ts';
import type { Refusal } from '../requests/request.ts';
import { chain } from './driver-errors.ts';
import { newerError } from './kafka-errors.ts';
import { createErrorFromCode } from './kafkajs-internals.ts';

const UNKNOWN_TOPIC_OR_PARTITION = 3;

/** The error for a number that a broker returned, as kafkajs throws it. */
export function answeredError(code: number, about: { readonly topic?: string } = {}): Error {
  return Object.assign(createErrorFromCode(code), newerError(code), { code }, about);
}

/** The error of a broker that doesn't know a topic, or one of its partitions. */
export function unknownTopicError(topic: string): Error {
  return answeredError(UNKNOWN_TOPIC_OR_PARTITION, { topic });
}

/** The refusals of a response as one error; undefined if there are none. */
export function refusalError(refusals: readonly Refusal[]): Error | undefined {
  return oneError(refusals.map(({ errorCode, topic }) => answeredError(errorCode, topic === undefined ? {} : { topic })));
}

/** Several errors as one; undefined if there are none. */
export function oneError(errors: readonly Error[]): Error | undefined {
  return errors.length > 1 ? new AggregateError(errors, errors.map(({ message }) => message).join('; ')) : errors[0];
}

/** What brokers call the refusal of an operation, by the kind of resource. */
const REFUSALS: Readonly<Record<string, ResourceKind>> = {
  TOPIC_AUTHORIZATION_FAILED: 'topic',
  GROUP_AUTHORIZATION_FAILED: 'group',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'transactional id',
  CLUSTER_AUTHORIZATION_FAILED: 'cluster',
};

/** Names the missing rights, if a broker refused a request with these needs because of them; otherwise undefined. */
export function missingRight(error: unknown, needs: readonly MissingRight[]): MissingRightError | undefined {
  const missing = new Set<MissingRight>();
  let refusal: string | undefined;
  for (const { type = '', topic } of chain(error)) {
    const refused = REFUSALS[type];
    if (refused === undefined) continue;
    refusal ??= type;
    for (const right of needs)
      if (right.kind === refused && (refused !== 'topic' || topic === undefined || right.name === topic)) missing.add(right);
  }
  if (refusal === undefined) return undefined;
  // kafkajs reads these two properties. It passes on an error's cause instead of the error, so this one has no cause.
  return Object.assign(new MissingRightError([...missing]), { type: refusal, retriable: false });
}
