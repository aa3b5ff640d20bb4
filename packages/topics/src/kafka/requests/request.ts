import type { MissingRight, ResourceKind } from '../../missing-right-error.ts';
import type { TopicPartition } from '../../topic-log.ts';
import type { AnswerReader } from '../wire/answer-reader.ts';
import type { RequestWriter } from '../wire/request-writer.ts';

/** The broker that answers: each leader for the partitions it leads, or the one of that role. */
export type Destination = 'leader' | 'group coordinator' | 'transaction coordinator' | 'controller' | 'any';

/** What the cluster must know about a request, no matter which code encodes it. */
export interface Routed<Options> {
  /** Its name in Kafka's protocol. */
  readonly api: string;
  /**
   * A `leader` needs `topicPartitions` in the options, and a response by partition (`PartitionAnswers`); a coordinator needs `groupId` or
   * `transactionalId`.
   */
  readonly to: Destination;
  /** The rights that brokers require (Kafka's table "Operations and Resources on Protocols"). */
  needs(options: Options): readonly MissingRight[];
  /** How long the broker may take before it counts as silent, ms. Default 3000. */
  answersWithinMs?(options: Options): number;
}

/** A request of Kafka's protocol as data. The newest of `versions` that the broker knows is sent. */
export interface Request<Options, Answer> extends Routed<Options> {
  readonly key: number;
  /** In ascending order. */
  readonly versions: readonly number[];
  /** The first version with compact lengths and tagged fields. Default: none. */
  readonly flexibleFrom?: number;
  /** The head of a flexible response has no tagged fields. Default false. */
  readonly plainHead?: boolean;
  write(body: RequestWriter, options: Options, version: number): void;
  read(from: AnswerReader, options: Options, version: number): Answered<Answer>;
  /** The result if the broker knows none of the versions. Default: an error. */
  absent?(options: Options): Answer;
}

export interface Answered<Answer> {
  /** The broker accepts no further request for this long. */
  readonly throttleMs: number;
  /** The broker's refusals, if any. */
  readonly refusals: readonly Refusal[];
  /** Meaningless if the whole request was refused. */
  readonly answer: Answer;
}

export interface Refusal {
  readonly errorCode: number;
  /** Default: the whole request was refused, and nothing of it was done. */
  readonly topic?: string;
}

/** By `partitionKey`, the values of the partitions that accept the request. */
export type PartitionAnswers<Value> = ReadonlyMap<string, Value>;

export interface AboutPartitions {
  readonly topicPartitions: readonly TopicPartition[];
}

/** How long a broker may owe the response to any other request, ms. */
export const ANSWERS_WITHIN_MS = 3_000;

/** The rights to these operations on each of the resources, each resource once. */
export function rights(kind: ResourceKind, operations: readonly string[], names: Iterable<string>): readonly MissingRight[] {
  return [...new Set(names)].flatMap((name) => operations.map((operation) => ({ operation, kind, name })));
}

export function topicRights(operation: string, about: Iterable<{ readonly topic: string }>): readonly MissingRight[] {
  return rights(
    'topic',
    [operation],
    Array.from(about, ({ topic }) => topic),
  );
}

/** Records appended outside of lanes have an ID that was never used before. */
export function idRights(operations: readonly string[], transactionalId: string): readonly MissingRight[] {
  return rights('transactional id', operations, [transactionalId.replace(/^append-.*$/u, 'append-*')]);
}
