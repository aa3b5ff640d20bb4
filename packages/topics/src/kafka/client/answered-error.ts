import { type MissingRight, MissingRightError, type ResourceKind } from '../../missing-right-error.ts';
import type { Refusal } from '../requests/request.ts';
import { chain } from './driver-errors.ts';
import { KAFKA_ERRORS, kafkaError } from './kafka-errors.ts';
import { kafkajsError } from './transport.ts';

/** An error with which a broker answered a request. */
export class AnsweredError extends Error {
  override readonly name: string = 'AnsweredError';
  /** Number in Kafka's protocol. */
  readonly code: number;
  /** Name in Kafka's protocol; undefined if neither the driver nor kafkajs knows it. */
  readonly type: string | undefined;
  /** The topic that was refused; undefined if the whole request was. */
  declare readonly topic?: string;
  /** The partition that was refused; undefined if the whole topic was. */
  declare readonly partition?: number;

  constructor({ errorCode: code, topic, partition, text }: Refusal) {
    super(text ?? kafkajsError(code)?.message ?? `Unknown error code ${code}`);
    this.code = code;
    this.type = kafkaError(code).name ?? kafkajsError(code)?.type;
    if (topic !== undefined) this.topic = topic;
    if (partition !== undefined) this.partition = partition;
  }
}

export function answeredError(code: number, about: Pick<Refusal, 'topic' | 'partition'> = {}): AnsweredError {
  return new AnsweredError({ errorCode: code, ...about });
}

export function unknownTopicError(topic: string, partition?: number): Error {
  return answeredError(KAFKA_ERRORS.UNKNOWN_TOPIC_OR_PARTITION.code, { topic, ...(partition !== undefined && { partition }) });
}

export function refusalError(refusals: readonly Refusal[]): Error | undefined {
  return oneError(refusals.map((refusal) => new AnsweredError(refusal)));
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
  let isRefused = false;
  for (const { type = '', topic } of chain(error)) {
    const refused = REFUSALS[type];
    if (refused === undefined) continue;
    isRefused = true;
    for (const right of needs)
      if (right.kind === refused && (refused !== 'topic' || topic === undefined || right.name === topic)) missing.add(right);
  }
  if (!isRefused) return undefined;
  return new MissingRightError([...missing]);
}
