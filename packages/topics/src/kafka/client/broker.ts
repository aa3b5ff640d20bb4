import type { TopicPartition } from '../../topic-log.ts';
import type { Partitions } from '../../topic-partition.ts';

/**
 * Internals of kafkajs 2.2.4 that fetch a partition from an offset without joining a group. Its public consumers always join one, which
 * costs every read a rebalance (3 s with a broker's default settings) and leaves groups behind. The version is pinned.
 */
export interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  isConnected(): boolean;
  refreshMetadata(): Promise<void>;
  /** The ids of the brokers that are up. */
  getNodeIds(): readonly string[];
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number; readonly leader: number }[];
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>>;
  findBroker(options: { readonly nodeId: string | number }): Promise<Broker>;
  readonly brokerPool: {
    findConnectedBroker(): Promise<Broker>;
    /** By node id. */
    readonly brokers: Readonly<Record<string, Broker>>;
    /** With each broker's address as it advertises it. */
    readonly metadata: { readonly brokers: readonly { readonly nodeId: number; readonly host: string; readonly port: number }[] } | null;
  };
  findGroupCoordinator(options: { readonly groupId: string; readonly coordinatorType?: number }): Promise<Broker>;
}

export interface Broker extends TransactionBroker {
  /** Also false when it is time to authenticate again. */
  isConnected(): boolean;
  readonly connectionPool: { isConnected(): boolean };
  fetch(options: {
    readonly isolationLevel: number;
    readonly maxWaitTime: number;
    readonly minBytes: number;
    readonly maxBytes: number;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number; readonly fetchOffset: string; readonly maxBytes: number }[];
    }[];
  }): Promise<{ readonly responses: readonly { readonly topicName: string; readonly partitions: readonly FetchedPartition[] }[] }>;
  describeConfigs(options: {
    readonly resources: readonly { readonly type: number; readonly name: string; readonly configNames: readonly string[] }[];
  }): Promise<{
    readonly resources: readonly {
      readonly resourceName: string;
      readonly configEntries: readonly { readonly configName: string; readonly configValue: string }[];
    }[];
  }>;
  offsetFetch(options: {
    readonly groupId: string;
    readonly topics: readonly { readonly topic: string; readonly partitions: readonly { readonly partition: number }[] }[];
  }): Promise<{
    readonly responses: readonly { readonly partitions: readonly { readonly partition: number; readonly offset: string }[] }[];
  }>;
  offsetCommit(options: {
    readonly groupId: string;
    readonly groupGenerationId: number;
    readonly memberId: string;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number; readonly offset: string; readonly metadata: string }[];
    }[];
  }): Promise<unknown>;
}

/** Of a partition: the first one kept, the end of what is decided, or the end of all that is replicated. */
export type WhichOffset = 'earliest' | 'stable' | 'replicated';

/** The requests that show whether transactions have ended. */
export interface EndingBroker {
  /** An offset of each partition, all of which the broker leads, in the same order. */
  listedOffsets(options: { readonly topicPartitions: readonly TopicPartition[]; readonly which: WhichOffset }): Promise<readonly number[]>;
  /** Those of the partitions, all of which the broker leads, in which that producer has a transaction open, or may have. */
  openTransactions(options: {
    readonly topicPartitions: readonly TopicPartition[];
    readonly producerId: string;
  }): Promise<readonly TopicPartition[]>;
  /** Those of the partitions for which a transaction may still commit an offset of the group, whose coordinator the broker is. */
  pendingOffsets(options: {
    readonly groupId: string;
    readonly topicPartitions: readonly TopicPartition[];
  }): Promise<readonly TopicPartition[]>;
}

/** The requests of a transactional producer. Each throws whatever a part of its answer refuses, with the topic that this is about. */
export interface TransactionBroker extends EndingBroker {
  /** Fences every older producer of the id. */
  initProducerId(options: InitOptions): Promise<ProducerEpoch>;
  /** In protocol 1, before anything is sent to them. */
  addPartitionsToTxn(options: TransactionOptions & { readonly topics: readonly Partitions[] }): Promise<void>;
  /** In protocol 1, before `txnOffsetCommit`. */
  addOffsetsToTxn(options: TransactionOptions & { readonly groupId: string }): Promise<void>;
  /** Appends a batch to each partition, all of which the broker leads. Resolves to their first offsets, in the same order. */
  produceBatches(options: ProduceOptions): Promise<readonly number[]>;
  txnOffsetCommit(options: OffsetCommitOptions): Promise<void>;
  /** Resolves to the producer of the next transaction: in protocol 2 its epoch is another one. */
  endTxn(options: TransactionOptions & { readonly transactionResult: boolean }): Promise<ProducerEpoch>;
  /** The protocol that all brokers of the cluster speak and that its operator has let them speak (the feature `transaction.version`). */
  transactionProtocol(): Promise<TransactionProtocol>;
  /** Throws where the broker doesn't tell about the id's newest transaction; brokers before Kafka 3.0 aren't asked. */
  describeTransaction(options: { readonly transactionalId: string }): Promise<void>;
}

export interface InitOptions {
  readonly transactionalId: string;
  /** After so long without a word a broker aborts the transaction, ms. */
  readonly transactionTimeout: number;
}

export interface ProducerEpoch {
  readonly producerId: string;
  readonly producerEpoch: number;
}

/**
 * In protocol 1 a transaction's partitions and groups are announced to its coordinator. In protocol 2 (KIP-890, Kafka 4) what is written to them
 * announces them, and each transaction has an epoch of its own: nothing of one can come to light in the next.
 */
export type TransactionProtocol = 1 | 2;

export interface TransactionOptions extends ProducerEpoch {
  readonly transactionalId: string;
  /** Default 1. */
  readonly protocol?: TransactionProtocol;
}

interface ProducedBatch extends TopicPartition {
  /** In pieces, which have to stay as they are until the request is answered. */
  readonly batch: readonly Buffer[];
}

export interface ProduceOptions {
  /** null: outside of transactions. */
  readonly transactionalId: string | null;
  /** Default 1. */
  readonly protocol?: TransactionProtocol;
  readonly topicPartitions: readonly ProducedBatch[];
}

export interface OffsetCommitOptions extends TransactionOptions {
  readonly groupId: string;
  /** `offset`: the one that the group reads next. */
  readonly topicPartitions: readonly (TopicPartition & { readonly offset: number })[];
}

export interface FetchedPartition {
  readonly partition: number;
  readonly highWatermark: string;
  /** Answered since Kafka 0.11. */
  readonly lastStableOffset: string;
  /** In the order in which they ended. */
  readonly abortedTransactions: readonly { readonly producerId: string; readonly firstOffset: string }[] | null;
  readonly messages: readonly FetchedMessage[];
}

export interface FetchedMessage {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, Buffer | readonly Buffer[] | null | undefined>>;
  readonly isControlRecord: boolean;
  readonly batchContext: {
    readonly producerId: string;
    readonly inTransaction: boolean;
    readonly firstOffset: string;
    readonly lastOffsetDelta: number;
    readonly producerEpoch: number;
    readonly firstSequence: number;
  };
}
