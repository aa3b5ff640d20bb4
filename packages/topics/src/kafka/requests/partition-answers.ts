import type { TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { AnswerReader } from '../wire/answer-reader.ts';
import type { RequestWriter } from '../wire/request-writer.ts';
import type { Answered, PartitionAnswers, Refusal } from './request.ts';

const CONCURRENT_TRANSACTIONS = 51;
/** OPERATION_NOT_ATTEMPTED: the broker left this partition out because it refused another one of the request. */
const NOT_ATTEMPTED = 55;

/** Writes partitions grouped by topic. Each is written as its number and what `write` adds. */
export function writePartitions<Place extends TopicPartition>(
  body: RequestWriter,
  topicPartitions: readonly Place[],
  write: (place: Place) => RequestWriter = () => body,
): RequestWriter {
  return body.array([...Map.groupBy(topicPartitions, ({ topic }) => topic)], ([topic, places]) =>
    body
      .string(topic)
      .array(places, (place) => {
        body.int32(place.partition);
        write(place);
      })
      .tags(),
  );
}

export function refusalsOf(errorCode: number): readonly Refusal[] {
  return errorCode === 0 ? [] : [{ errorCode }];
}

/** Reads the response to a request that is accepted or refused as a whole. */
export function wholeAnswer(from: AnswerReader): Answered<void> {
  return { throttleMs: from.int32(), refusals: refusalsOf(from.int16()), answer: undefined };
}

/**
 * Reads an error code for each partition, and what `readRest` reads after it. Throws unless the response names exactly the partitions in
 * `asked`: a partition that is missing hasn't been accepted.
 */
export function readPartitions<Value>(
  from: AnswerReader,
  asked: readonly TopicPartition[],
  readRest: (place: TopicPartition) => Value,
): Omit<Answered<PartitionAnswers<Value>>, 'throttleMs'> {
  const answer = new Map<string, Value>();
  const codes: (TopicPartition & { readonly errorCode: number })[] = [];
  const answered = new Set<string>();
  from.array(() => {
    const topic = from.string();
    from.array(() => {
      const place = { topic, partition: from.int32() };
      const errorCode = from.int16();
      codes.push({ ...place, errorCode });
      answered.add(partitionKey(place));
      const value = readRest(place);
      if (errorCode === 0) answer.set(partitionKey(place), value);
      from.tags();
    });
    from.tags();
  });
  if (answered.size > asked.length || !asked.every((place) => answered.has(partitionKey(place))))
    throw new Error(
      `A request to a broker named ${asked.map(partitionKey).join(', ')}, but the response names ${[...answered].join(', ')}.`,
    );
  return { answer, refusals: refusedParts(codes) };
}

function refusedParts(codes: readonly Required<Omit<Refusal, 'text'>>[]): readonly Refusal[] {
  // All partitions were refused for this reason, so nothing was done. A refusal without a topic stands for that.
  if (codes.length > 0 && codes.every(({ errorCode }) => errorCode === CONCURRENT_TRANSACTIONS))
    return [{ errorCode: CONCURRENT_TRANSACTIONS }];
  const refused = codes.filter(({ errorCode }) => errorCode !== 0);
  const reasons = refused.filter(({ errorCode }) => errorCode !== NOT_ATTEMPTED);
  return reasons.length > 0 ? reasons : refused;
}
