import { type Partitions, partitionKey } from '../../topic-partition.ts';
import type { AnswerReader } from './answer-reader.ts';
import { partitionVerdicts, throwRefused, throwRefusedPartitions, topicsOf, verdict } from './answer-verdicts.ts';
import { ask, knows } from './ask.ts';
import { endingRequests } from './ending-requests.ts';
import type {
  Broker,
  InitOptions,
  OffsetCommitOptions,
  ProduceOptions,
  ProducerEpoch,
  TransactionBroker,
  TransactionOptions,
  TransactionProtocol,
} from './broker.ts';
import type { RequestWriter } from './request-writer.ts';

/** How long a leader waits for its replicas, ms. */
const PRODUCE_TIMEOUT_MS = 30_000;
const ALL_IN_SYNC = -1;
const API_VERSIONS = 18;
const DESCRIBE_TRANSACTIONS = 65;
/** The number of a tagged field in the answer to ApiVersions. */
const FINALIZED_FEATURES = 2;

/** A broker of kafkajs whose transactions are asked for here. */
export function withTransactions<B extends Broker>(broker: B): B {
  const requests: TransactionBroker = {
    ...endingRequests(broker),
    initProducerId: (options) => initProducerId(broker, options),
    addPartitionsToTxn: (options) => addPartitionsToTxn(broker, options),
    addOffsetsToTxn: (options) => addOffsetsToTxn(broker, options),
    produceBatches: (options) => produceBatches(broker, options),
    txnOffsetCommit: (options) => txnOffsetCommit(broker, options),
    endTxn: (options) => endTxn(broker, options),
    describeTransaction: (options) => describeTransaction(broker, options),
    transactionProtocol: () => transactionProtocol(broker),
  };
  return Object.assign(broker, requests);
}

async function initProducerId(broker: Broker, { transactionalId, transactionTimeout }: InitOptions): Promise<ProducerEpoch> {
  const answer = await ask(broker, {
    apiName: 'InitProducerId',
    apiKey: 22,
    versions: [0, 1],
    flexibleFrom: 2,
    write: (body) => body.string(transactionalId).int32(transactionTimeout),
    read: (from) => ({ ...verdict(from), producer: producerOf(from) }),
  });
  throwRefused(answer);
  return answer.producer;
}

async function addPartitionsToTxn(broker: Broker, options: TransactionOptions & { readonly topics: readonly Partitions[] }): Promise<void> {
  const { verdicts } = await ask(broker, {
    apiName: 'AddPartitionsToTxn',
    apiKey: 24,
    versions: [0, 1],
    flexibleFrom: 3,
    write: (body) =>
      transaction(body, options).array(options.topics, ({ topic, partitions }) =>
        body.string(topic).array(partitions, (partition) => body.int32(partition)),
      ),
    read: (from) => ({ throttleMs: from.int32(), verdicts: partitionVerdicts(from) }),
  });
  throwRefusedPartitions(
    options.topics.flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition }))),
    verdicts,
  );
}

async function addOffsetsToTxn(broker: Broker, options: TransactionOptions & { readonly groupId: string }): Promise<void> {
  throwRefused(
    await ask(broker, {
      apiName: 'AddOffsetsToTxn',
      apiKey: 25,
      versions: [0, 1],
      flexibleFrom: 3,
      write: (body) => transaction(body, options).string(options.groupId),
      read: verdict,
    }),
  );
}

async function produceBatches(broker: Broker, { transactionalId, protocol, topicPartitions }: ProduceOptions): Promise<readonly number[]> {
  const { verdicts } = await ask(broker, {
    apiName: 'Produce',
    apiKey: 0,
    versions: protocol === 2 ? [12] : [3, 4, 5, 6, 7],
    flexibleFrom: 9,
    write: (body) =>
      body
        .string(transactionalId)
        .int16(ALL_IN_SYNC)
        .int32(PRODUCE_TIMEOUT_MS)
        .array(topicsOf(topicPartitions), ([topic, produced]) =>
          body
            .string(topic)
            .array(produced, ({ partition, batch }) => body.int32(partition).bytes(batch).tags())
            .tags(),
        )
        .tags(),
    read(from, version) {
      const found = partitionVerdicts(from, () => {
        const offset = Number(from.int64());
        // The time of the append.
        from.int64();
        // The first offset of the log.
        if (version >= 5) from.int64();
        // Which records are wrong, and a message to people.
        if (version >= 8) skipReasons(from);
        return offset;
      });
      return { verdicts: found, throttleMs: from.int32() };
    },
  });
  throwRefusedPartitions(topicPartitions, verdicts);
  return topicPartitions.map((produced) => verdicts.get(partitionKey(produced))?.offset ?? -1);
}

function skipReasons(from: AnswerReader): void {
  from.array(() => {
    from.int32();
    from.string();
    from.tags();
  });
  from.string();
}

async function txnOffsetCommit(broker: Broker, options: OffsetCommitOptions): Promise<void> {
  const { verdicts } = await ask(broker, {
    apiName: 'TxnOffsetCommit',
    apiKey: 28,
    versions: options.protocol === 2 ? [5] : [0, 1],
    flexibleFrom: 3,
    write(body, version) {
      body.string(options.transactionalId).string(options.groupId).int64(options.producerId).int16(options.producerEpoch);
      // No generation, no member and no instance of the group.
      if (version >= 3) body.int32(-1).string('').string(null);
      body
        .array(topicsOf(options.topicPartitions), ([topic, committed]) =>
          body
            .string(topic)
            .array(committed, ({ partition, offset }) => {
              body.int32(partition).int64(offset);
              // No epoch of the partition's leader.
              if (version >= 2) body.int32(-1);
              body.string(null).tags();
            })
            .tags(),
        )
        .tags();
    },
    read: (from) => ({ throttleMs: from.int32(), verdicts: partitionVerdicts(from) }),
  });
  throwRefusedPartitions(options.topicPartitions, verdicts);
}

async function endTxn(broker: Broker, options: TransactionOptions & { readonly transactionResult: boolean }): Promise<ProducerEpoch> {
  const { producerId, producerEpoch, protocol } = options;
  const answer = await ask(broker, {
    apiName: 'EndTxn',
    apiKey: 26,
    versions: protocol === 2 ? [5] : [0, 1],
    flexibleFrom: 3,
    write: (body) => transaction(body, options).boolean(options.transactionResult).tags(),
    read: (from, version) => ({ ...verdict(from), next: version >= 5 ? producerOf(from) : { producerId, producerEpoch } }),
  });
  throwRefused(answer);
  return answer.next;
}

async function transactionProtocol(broker: Broker): Promise<TransactionProtocol> {
  if (!knows(broker, API_VERSIONS, 3)) return 1;
  const { level } = await ask(broker, {
    apiName: 'ApiVersions',
    apiKey: API_VERSIONS,
    versions: [3],
    flexibleFrom: 3,
    plainHead: true,
    write: (body) => body.string('headgate').string('0').tags(),
    read(from) {
      from.int16();
      from.array(() => {
        // A request, and its oldest and newest version.
        for (let left = 3; left > 0; left -= 1) from.int16();
        from.tags();
      });
      const throttleMs = from.int32();
      let found = 0;
      from.tags((tag) => {
        if (tag === FINALIZED_FEATURES) found = featureLevel(from, 'transaction.version');
      });
      return { throttleMs, level: found };
    },
  });
  return level >= 2 ? 2 : 1;
}

function featureLevel(from: AnswerReader, name: string): number {
  const levels = from.array(() => {
    const level: [name: string, most: number] = [from.string(), from.int16()];
    // The least level.
    from.int16();
    from.tags();
    return level;
  });
  return new Map(levels).get(name) ?? 0;
}

async function describeTransaction(broker: Broker, { transactionalId }: { readonly transactionalId: string }): Promise<void> {
  if (!knows(broker, DESCRIBE_TRANSACTIONS)) return;
  const { states } = await ask(broker, {
    apiName: 'DescribeTransactions',
    apiKey: DESCRIBE_TRANSACTIONS,
    versions: [0],
    flexibleFrom: 0,
    write: (body) => body.array([transactionalId], (id) => body.string(id)).tags(),
    // Of the one state that was asked for no more is read than whether it is refused.
    read: (from) => ({ throttleMs: from.int32(), states: from.array(() => ({ errorCode: from.int16() })) }),
  });
  states.forEach(throwRefused);
}

function transaction(body: RequestWriter, { transactionalId, producerId, producerEpoch }: TransactionOptions): RequestWriter {
  return body.string(transactionalId).int64(producerId).int16(producerEpoch);
}

function producerOf(from: AnswerReader): ProducerEpoch {
  return { producerId: String(from.int64()), producerEpoch: from.int16() };
}
