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
  fetchTopicsOffset(
    topics: readonly { readonly topic: string; readonly partitions: readonly { partition: number }[]; readonly fromBeginning: boolean }[],
  ): Promise<
    readonly { readonly topic: string; readonly partitions: readonly { readonly partition: number; readonly offset: string }[] }[]
  >;
}

export interface Broker {
  isConnected(): boolean;
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
  }): Promise<{ readonly resources: readonly { readonly configEntries: readonly { readonly configValue: string }[] }[] }>;
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
  };
}
