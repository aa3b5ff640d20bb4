import type { TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import { ask, knows } from './ask.ts';
import { throwRefused, partitionVerdicts, throwRefusedPartitions, topicsOf } from './answer-verdicts.ts';
import type { Broker, EndingBroker } from './broker.ts';

const OFFSET_FETCH = 9;
const DESCRIBE_PRODUCERS = 61;
const ANY_REPLICA = -1;
const READ_UNCOMMITTED = 0;
const READ_COMMITTED = 1;
const EARLIEST = '-2';
const LATEST = '-1';
const UNSTABLE_OFFSET_COMMIT = 88;

/** The requests that show whether transactions have ended. */
export function endingRequests(broker: Broker): EndingBroker {
  return {
    listedOffsets: (options) => listedOffsets(broker, options),
    openTransactions: (options) => openTransactions(broker, options),
    pendingOffsets: (options) => pendingOffsets(broker, options),
  };
}

async function listedOffsets(
  broker: Broker,
  { topicPartitions, which }: Parameters<EndingBroker['listedOffsets']>[0],
): Promise<readonly number[]> {
  const { verdicts } = await ask(broker, {
    apiName: 'ListOffsets',
    apiKey: 2,
    versions: [2, 3],
    flexibleFrom: 6,
    write: (body) =>
      body
        .int32(ANY_REPLICA)
        .uint8(which === 'replicated' ? READ_UNCOMMITTED : READ_COMMITTED)
        .array(topicsOf(topicPartitions), ([topic, listed]) =>
          body.string(topic).array(listed, ({ partition }) => body.int32(partition).int64(which === 'earliest' ? EARLIEST : LATEST)),
        ),
    read(from) {
      const throttleMs = from.int32();
      const found = partitionVerdicts(from, () => {
        // The time of the record, which is none.
        from.int64();
        return Number(from.int64());
      });
      return { throttleMs, verdicts: found };
    },
  });
  throwRefusedPartitions(topicPartitions, verdicts);
  return topicPartitions.map((listed) => verdicts.get(partitionKey(listed))?.offset ?? -1);
}

async function openTransactions(
  broker: Broker,
  { topicPartitions, producerId }: Parameters<EndingBroker['openTransactions']>[0],
): Promise<readonly TopicPartition[]> {
  // Brokers before Kafka 2.8 don't say; none of them forgets end markers.
  if (!knows(broker, DESCRIBE_PRODUCERS)) return topicPartitions;
  const open: TopicPartition[] = [];
  const { verdicts } = await ask(broker, {
    apiName: 'DescribeProducers',
    apiKey: DESCRIBE_PRODUCERS,
    versions: [0],
    flexibleFrom: 0,
    write: (body) =>
      body
        .array(topicsOf(topicPartitions), ([topic, described]) =>
          body
            .string(topic)
            .array(described, ({ partition }) => body.int32(partition))
            .tags(),
        )
        .tags(),
    read(from) {
      const throttleMs = from.int32();
      const found = partitionVerdicts(from, ({ topic, partition }) => {
        // A message to people.
        from.string();
        from.array(() => {
          const id = String(from.int64());
          // Its epoch as 32 bits, the number and the time of its last record, and the coordinator's epoch.
          from.int32();
          from.int32();
          from.int64();
          from.int32();
          if (from.int64() >= 0n && id === producerId) open.push({ topic, partition });
          from.tags();
        });
        return -1;
      });
      return { throttleMs, verdicts: found };
    },
  });
  throwRefusedPartitions(topicPartitions, verdicts);
  return open;
}

async function pendingOffsets(
  broker: Broker,
  { groupId, topicPartitions }: Parameters<EndingBroker['pendingOffsets']>[0],
): Promise<readonly TopicPartition[]> {
  // Brokers before Kafka 2.5 don't say; none of them forgets end markers.
  if (!knows(broker, OFFSET_FETCH, 7)) return [];
  const pending: TopicPartition[] = [];
  const answer = await ask(broker, {
    apiName: 'OffsetFetch',
    apiKey: OFFSET_FETCH,
    versions: [7],
    flexibleFrom: 6,
    write: (body) =>
      body
        .string(groupId)
        .array(topicsOf(topicPartitions), ([topic, asked]) =>
          body
            .string(topic)
            .array(asked, ({ partition }) => body.int32(partition))
            .tags(),
        )
        // An offset that a transaction may still commit is refused.
        .boolean(true)
        .tags(),
    read(from) {
      const throttleMs = from.int32();
      from.array(() => {
        const topic = from.string();
        from.array(() => {
          const partition = from.int32();
          // The offset, its leader's epoch, and what the group has noted with it.
          from.int64();
          from.int32();
          from.string();
          const errorCode = from.int16();
          if (errorCode === UNSTABLE_OFFSET_COMMIT) pending.push({ topic, partition });
          else throwRefused({ errorCode });
          from.tags();
        });
        from.tags();
      });
      return { throttleMs, errorCode: from.int16() };
    },
  });
  throwRefused(answer);
  return pending;
}
