import type { TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { AnswerReader } from './answer-reader.ts';
import { type Throttled, answeredError, oneError } from './ask.ts';

const CONCURRENT_TRANSACTIONS = 51;
/** OPERATION_NOT_ATTEMPTED: another partition of the request is the one that is refused. */
const NOT_ATTEMPTED = 55;

/** Groups partitions by topic, as requests name them. */
export function topicsOf<T extends TopicPartition>(topicPartitions: readonly T[]): [topic: string, T[]][] {
  return [...Map.groupBy(topicPartitions, ({ topic }) => topic)];
}

export interface Verdict {
  readonly errorCode: number;
}

export function verdict(from: AnswerReader): Throttled & Verdict {
  return { throttleMs: from.int32(), errorCode: from.int16() };
}

export function throwRefused({ errorCode }: Verdict): void {
  if (errorCode !== 0) throw answeredError(errorCode);
}

/** By topic and partition (`partitionKey`). */
export type PartitionVerdicts = ReadonlyMap<string, Verdict & { readonly offset: number }>;

export function partitionVerdicts(from: AnswerReader, readOffset: (place: TopicPartition) => number = () => -1): PartitionVerdicts {
  const verdicts = new Map<string, Verdict & { readonly offset: number }>();
  from.array(() => {
    const topic = from.string();
    from.array(() => {
      const partition = from.int32();
      const errorCode = from.int16();
      verdicts.set(partitionKey({ topic, partition }), { errorCode, offset: readOffset({ topic, partition }) });
      from.tags();
    });
    from.tags();
  });
  return verdicts;
}

/**
 * Throws unless the answer accepts each partition that was asked about, and no other. kafkajs throws the first refusal alone, and takes a partition
 * that is missing in the answer for done.
 */
export function throwRefusedPartitions(asked: readonly TopicPartition[], verdicts: PartitionVerdicts): void {
  const answered = [...verdicts.keys()];
  const missing = asked.map(partitionKey).filter((key) => !verdicts.has(key));
  if (missing.length > 0 || answered.length > asked.length)
    throw new Error(`A broker was asked about ${asked.map(partitionKey).join(', ')}, and its answer is about ${answered.join(', ')}.`);
  const codes = asked.map((topicPartition) => ({
    topic: topicPartition.topic,
    errorCode: verdicts.get(partitionKey(topicPartition))?.errorCode ?? 0,
  }));
  const refused = codes.filter(({ errorCode }) => errorCode !== 0);
  // Without a topic: nothing of the request was done.
  if (refused.length > 0 && codes.every(({ errorCode }) => errorCode === CONCURRENT_TRANSACTIONS))
    throw answeredError(CONCURRENT_TRANSACTIONS);
  const reasons = refused.filter(({ errorCode }) => errorCode !== NOT_ATTEMPTED);
  const error = oneError((reasons.length > 0 ? reasons : refused).map(({ topic, errorCode }) => answeredError(errorCode, { topic })));
  if (error !== undefined) throw error;
}
