import { type MissingRight, MissingRightError, type ResourceKind } from '../../missing-right-error.ts';
import type { Refusal } from '../requests/request.ts';
import { chain } from './driver-errors.ts';
import { KAFKA_ERRORS } from './kafka-errors.ts';
import { createErrorFromCode } from './kafkajs-internals.ts';

/** Creates the error that kafkajs throws for a broker's error code, with the code also if kafkajs doesn't know it. */
export function answeredError(code: number, about: { readonly topic?: string } = {}): Error {
  return Object.assign(createErrorFromCode(code), { code }, about);
}

export function unknownTopicError(topic: string): Error {
  return answeredError(KAFKA_ERRORS.UNKNOWN_TOPIC_OR_PARTITION.code, { topic });
}

export function refusalError(refusals: readonly Refusal[]): Error | undefined {
  return oneError(refusals.map(({ errorCode, topic }) => answeredError(errorCode, topic === undefined ? {} : { topic })));
}

export function oneError(errors: readonly Error[]): Error | undefined {
  return errors.length > 1 ? new AggregateError(errors, errors.map(({ message }) => message).join('; ')) : errors[0];
}

/** The kind of resource that each authorization error of a broker is about. */
const REFUSALS: Readonly<Record<string, ResourceKind>> = {
  TOPIC_AUTHORIZATION_FAILED: 'topic',
  GROUP_AUTHORIZATION_FAILED: 'group',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'transactional id',
  CLUSTER_AUTHORIZATION_FAILED: 'cluster',
};

/**
 * Converts a broker's refusal for lack of rights to an error that names the needed rights; undefined for any other error. `needs`: all rights that
 * the request needs.
 */
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
  // kafkajs reads `type` and `retriable`. kafkajs replaces an error that has a cause by the cause, so this error has none.
  return Object.assign(new MissingRightError([...missing]), { type: refusal, retriable: false });
}
