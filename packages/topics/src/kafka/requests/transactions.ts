import type { TopicPartition } from '../../topic-log.ts';
import type { AnswerReader } from '../wire/answer-reader.ts';
import type { RequestWriter } from '../wire/request-writer.ts';
import { apiVersions } from './connections.ts';
import { readPartitions, wholeAnswer, writePartitions } from './partition-answers.ts';
import { type AboutPartitions, type PartitionAnswers, type Request, idRights, rights, topicRights } from './request.ts';

/**
 * In protocol 1, the producer announces a transaction's partitions and groups to its coordinator. In protocol 2 (KIP-890, Kafka 4), the writes
 * themselves announce them, and each transaction has its own epoch, so a late write of one transaction can't become part of the next.
 */
export type TransactionProtocol = 1 | 2;

export interface ProducerEpoch {
  readonly producerId: string;
  readonly producerEpoch: number;
}

export interface TransactionOptions extends ProducerEpoch {
  readonly transactionalId: string;
}

/** How long a leader waits for its in-sync replicas, ms. */
const PRODUCE_TIMEOUT_MS = 30_000;
const ALL_IN_SYNC = -1;

export interface InitProducerIdOptions {
  readonly transactionalId: string;
  /** The coordinator aborts a transaction that has been open for longer than this, ms. */
  readonly transactionTimeout: number;
}

/** Gets a new epoch, which fences every older producer of the transactional ID. */
export const initProducerId: Request<InitProducerIdOptions, ProducerEpoch> = {
  api: 'InitProducerId',
  key: 22,
  version: 1,
  to: 'transaction coordinator',
  needs: ({ transactionalId }) => idRights(['Write'], transactionalId),
  write: (body, { transactionalId, transactionTimeout }) => body.string(transactionalId).int32(transactionTimeout),
  read: (from) => ({ ...wholeAnswer(from), answer: producerOf(from) }),
};

/** Announces partitions to the coordinator. In protocol 1, this comes before the first batch for them. */
export const addPartitionsToTxn: Request<TransactionOptions & AboutPartitions, PartitionAnswers<void>> = {
  api: 'AddPartitionsToTxn',
  key: 24,
  version: 1,
  to: 'transaction coordinator',
  needs: ({ transactionalId, topicPartitions }) => [...idRights(['Write'], transactionalId), ...topicRights('Write', topicPartitions)],
  write: (body, options) => writePartitions(transaction(body, options), options.topicPartitions),
  read: (from, { topicPartitions }) => ({ throttleMs: from.int32(), ...readPartitions(from, topicPartitions, nothing) }),
};

/** Announces a group to the coordinator. In protocol 1, this comes before `txnOffsetCommit`. */
export const addOffsetsToTxn: Request<TransactionOptions & { readonly groupId: string }, void> = {
  api: 'AddOffsetsToTxn',
  key: 25,
  version: 1,
  to: 'transaction coordinator',
  needs: ({ transactionalId, groupId }) => [...idRights(['Write'], transactionalId), ...rights('group', ['Read'], [groupId])],
  write: (body, options) => transaction(body, options).string(options.groupId),
  read: wholeAnswer,
};

export interface ProduceOptions {
  readonly transactionalId: string;
  /** The pieces of a batch must not change until the request is answered. */
  readonly topicPartitions: readonly (TopicPartition & { readonly batch: readonly Buffer[] })[];
}

/** Appends a batch to each partition. Resolves to the offset of each batch's first record. */
export const produce: Readonly<Record<TransactionProtocol, Request<ProduceOptions, PartitionAnswers<number>>>> = {
  1: produceIn(7),
  2: produceIn(12),
};

function produceIn(version: number): Request<ProduceOptions, PartitionAnswers<number>> {
  return {
    api: 'Produce',
    key: 0,
    version,
    isFlexible: version >= 9,
    to: 'leader',
    needs: ({ transactionalId, topicPartitions }) => [...topicRights('Write', topicPartitions), ...idRights(['Write'], transactionalId)],
    write: (body, { transactionalId, topicPartitions }) =>
      writePartitions(body.string(transactionalId).int16(ALL_IN_SYNC).int32(PRODUCE_TIMEOUT_MS), topicPartitions, ({ batch }) =>
        body.bytes(batch).tags(),
      ).tags(),
    read(from, { topicPartitions }) {
      const answered = readPartitions(from, topicPartitions, () => {
        const offset = Number(from.int64());
        // Skip the time of the append.
        from.int64();
        // Skip the first offset of the partition.
        from.int64();
        // Skip the list of wrong records and the error message.
        if (version >= 8) skipReasons(from);
        return offset;
      });
      return { ...answered, throttleMs: from.int32() };
    },
  };
}

function skipReasons(from: AnswerReader): void {
  from.array(() => {
    from.int32();
    from.string();
    from.tags();
  });
  from.string();
}

export interface TxnOffsetCommitOptions extends TransactionOptions {
  readonly groupId: string;
  /** `offset`: the one that the group reads next. */
  readonly topicPartitions: readonly (TopicPartition & { readonly offset: number })[];
}

export const txnOffsetCommit: Readonly<Record<TransactionProtocol, Request<TxnOffsetCommitOptions, PartitionAnswers<void>>>> = {
  1: txnOffsetCommitIn(1),
  2: txnOffsetCommitIn(5),
};

function txnOffsetCommitIn(version: number): Request<TxnOffsetCommitOptions, PartitionAnswers<void>> {
  return {
    api: 'TxnOffsetCommit',
    key: 28,
    version,
    isFlexible: version >= 3,
    to: 'group coordinator',
    needs: ({ transactionalId, groupId, topicPartitions }) => [
      ...idRights(['Write'], transactionalId),
      ...rights('group', ['Read'], [groupId]),
      ...topicRights('Read', topicPartitions),
    ],
    write(body, { transactionalId, groupId, producerId, producerEpoch, topicPartitions }) {
      body.string(transactionalId).string(groupId).int64(producerId).int16(producerEpoch);
      // No generation, no member and no instance of the group.
      if (version >= 3) body.int32(-1).string('').string(null);
      writePartitions(body, topicPartitions, ({ offset }) => {
        body.int64(offset);
        // No epoch of the partition's leader.
        if (version >= 2) body.int32(-1);
        return body.string(null).tags();
      }).tags();
    },
    read: (from, { topicPartitions }) => ({ throttleMs: from.int32(), ...readPartitions(from, topicPartitions, nothing) }),
  };
}

export interface EndTxnOptions extends TransactionOptions {
  /** True to commit, false to abort. */
  readonly transactionResult: boolean;
}

/** Ends a transaction. Resolves to the producer of the next one, which has a new epoch in protocol 2. */
export const endTxn: Readonly<Record<TransactionProtocol, Request<EndTxnOptions, ProducerEpoch>>> = {
  1: endTxnIn(1),
  2: endTxnIn(5),
};

function endTxnIn(version: number): Request<EndTxnOptions, ProducerEpoch> {
  return {
    api: 'EndTxn',
    key: 26,
    version,
    isFlexible: version >= 3,
    to: 'transaction coordinator',
    needs: ({ transactionalId }) => idRights(['Write'], transactionalId),
    write: (body, options) => transaction(body, options).boolean(options.transactionResult).tags(),
    read: (from, { producerId, producerEpoch }) => ({
      ...wholeAnswer(from),
      answer: version >= 5 ? producerOf(from) : { producerId, producerEpoch },
    }),
  };
}

/**
 * Reads the transaction protocol that all brokers of the cluster support and that its operator has enabled (the feature `transaction.version`).
 */
export const transactionProtocol: Request<{ readonly transactionalId: string }, TransactionProtocol> = {
  ...apiVersions,
  to: 'transaction coordinator',
  read(from, options) {
    const { answer, ...answered } = apiVersions.read(from, options);
    return { ...answered, answer: (answer.features.get('transaction.version') ?? 0) >= 2 ? 2 : 1 };
  },
};

export interface DescribeProducersOptions extends AboutPartitions {
  readonly producerId: string;
}

/** Reads for each partition whether the producer has a transaction open there. */
export const describeProducers: Request<DescribeProducersOptions, PartitionAnswers<boolean>> = {
  api: 'DescribeProducers',
  key: 61,
  version: 0,
  isFlexible: true,
  to: 'leader',
  needs: ({ topicPartitions }) => topicRights('Read', topicPartitions),
  write: (body, { topicPartitions }) => writePartitions(body, topicPartitions).tags(),
  read: (from, { topicPartitions, producerId }) => ({
    throttleMs: from.int32(),
    ...readPartitions(from, topicPartitions, () => {
      // Skip the error message.
      from.string();
      const open = from.array(() => {
        const id = String(from.int64());
        // Skip the producer's epoch (32 bits here), the sequence number and timestamp of its last record, and the coordinator's epoch.
        from.int32();
        from.int32();
        from.int64();
        from.int32();
        const isOpen = from.int64() >= 0n;
        from.tags();
        return isOpen && id === producerId;
      });
      return open.includes(true);
    }),
  }),
};

function transaction(body: RequestWriter, { transactionalId, producerId, producerEpoch }: TransactionOptions): RequestWriter {
  return body.string(transactionalId).int64(producerId).int16(producerEpoch);
}

function producerOf(from: AnswerReader): ProducerEpoch {
  return { producerId: String(from.int64()), producerEpoch: from.int16() };
}

function nothing(): void {}
