import type { MissingRight, ResourceKind } from '../../missing-right-error.ts';
import type { TopicPartition } from '../../topic-log.ts';
import type { AnswerReader } from '../wire/answer-reader.ts';
import type { RequestWriter } from '../wire/request-writer.ts';

/** The brokers that get a request: each leader for the partitions that it leads, or one broker with this role. */
export type Destination = 'leader' | 'group coordinator' | 'transaction coordinator' | 'controller' | 'any';

/** A request of Kafka's protocol as data, in a version that Kafka 3.0 and all later releases support. */
export interface Request<Options, Answer> {
  /** Name of the request in Kafka's protocol. */
  readonly api: string;
  /**
   * A request to a `leader` needs `topicPartitions` in its options, and a response by partition (`PartitionAnswers`). A request to a coordinator
   * needs `groupId` or `transactionalId` in its options.
   */
  readonly to: Destination;
  /** The rights that brokers require (Kafka's table "Operations and Resources on Protocols"). */
  needs(options: Options): readonly MissingRight[];
  /** Maximum time until the broker responds, ms. After it, the broker is reported as unavailable. Default 3000. */
  answersWithinMs?(options: Options): number;
  /**
   * True if the broker may wait for others before it responds. Such a request has a connection to itself, because a broker answers the requests of
   * a connection one by one. Default false.
   */
  mayWait?(options: Options): boolean;
  readonly key: number;
  readonly version: number;
  /** True if the version has compact lengths and tagged fields. Default false. */
  readonly isFlexible?: boolean;
  /** True if even a flexible response has no tagged fields in its header. Default false. */
  readonly plainHead?: boolean;
  write(body: RequestWriter, options: Options): void;
  read(from: AnswerReader, options: Options): Answered<Answer>;
}

export interface Answered<Answer> {
  /** How long to wait before the next request to this broker, ms. */
  readonly throttleMs: number;
  readonly refusals: readonly Refusal[];
  /** Meaningless if the whole request was refused. */
  readonly answer: Answer;
}

export interface Refusal {
  readonly errorCode: number;
  /** The refused topic. Undefined if the whole request was refused, and nothing of it was done. */
  readonly topic?: string;
  /** The refused partition. Undefined if the whole topic was refused. */
  readonly partition?: number;
  /** The broker's own text, if it sends one. */
  readonly text?: string;
}

/** The values of the partitions that accepted a request, by `partitionKey`. */
export type PartitionAnswers<Value> = ReadonlyMap<string, Value>;

export interface AboutPartitions {
  readonly topicPartitions: readonly TopicPartition[];
}

/** Maximum time until a broker responds to a request without `answersWithinMs`, ms. */
export const ANSWERS_WITHIN_MS = 3_000;

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

/** Rights on a transactional ID. Appends outside of lanes use a new ID in each open log, so their right names the common prefix. */
export function idRights(operations: readonly string[], transactionalId: string): readonly MissingRight[] {
  return rights('transactional id', operations, [transactionalId.replace(/^append-.*$/u, 'append-*')]);
}
