import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { letQueuesIdle } from '../../../../../packages/topics/src/kafka/faults/idle-queues.fixture.ts';

/** The part of kafkajs that tests use. It is declared here because only the Kafka driver depends on kafkajs. */
export interface PlainKafka {
  admin(): PlainAdmin;
  producer(options: { readonly allowAutoTopicCreation: false }): PlainProducer;
  producer(options: { readonly transactionalId: string; readonly maxInFlightRequests: 1 }): TransactionalProducer;
  consumer(options: {
    readonly groupId: string;
    readonly maxWaitTimeInMs: number;
    readonly maxBytesPerPartition: number;
    readonly readUncommitted: false;
  }): PlainConsumer;
}

interface Connected {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

export interface PlainAdmin extends Connected {
  listTopics(): Promise<readonly string[]>;
  deleteTopics(options: { readonly topics: readonly string[] }): Promise<void>;
  deleteGroups(groups: readonly string[]): Promise<unknown>;
  /** Type 2 means a topic. */
  alterConfigs(options: {
    readonly validateOnly: boolean;
    readonly resources: readonly {
      readonly type: 2;
      readonly name: string;
      readonly configEntries: readonly { readonly name: string; readonly value: string }[];
    }[];
  }): Promise<unknown>;
  createAcls(options: { readonly acl: readonly PlainAcl[] }): Promise<unknown>;
  deleteAcls(options: { readonly filters: readonly PlainAcl[] }): Promise<unknown>;
  describeAcls(filter: PlainAcl): Promise<{ readonly resources: readonly unknown[] }>;
  fetchTopicMetadata(options: { readonly topics: readonly string[] }): Promise<{
    readonly topics: readonly {
      readonly partitions: readonly { readonly partitionId: number; readonly leader: number; readonly replicas: readonly number[] }[];
    }[];
  }>;
  createPartitions(options: { readonly topicPartitions: readonly { readonly topic: string; readonly count: number }[] }): Promise<unknown>;
  fetchTopicOffsets(topic: string): Promise<readonly { readonly partition: number; readonly offset: string }[]>;
  /** The offset -1 means the end. kafkajs accepts only topics whose offsets were fetched before. */
  deleteTopicRecords(options: {
    readonly topic: string;
    readonly partitions: readonly { readonly partition: number; readonly offset: string }[];
  }): Promise<void>;
  alterPartitionReassignments(options: {
    readonly topics: readonly {
      readonly topic: string;
      readonly partitionAssignment: readonly { readonly partition: number; readonly replicas: readonly number[] }[];
    }[];
  }): Promise<void>;
}

/** An ACL with the numbers of Kafka's protocol. */
export interface PlainAcl {
  readonly resourceType: number;
  readonly resourceName: string;
  readonly resourcePatternType: number;
  readonly principal: string;
  readonly host: string;
  readonly operation: number;
  readonly permissionType: number;
}

interface PlainProducer extends Connected {
  send(batch: { readonly topic: string; readonly messages: readonly PlainMessage[] }): Promise<unknown>;
}

interface TransactionalProducer extends Connected {
  transaction(): Promise<PlainTransaction>;
}

export interface PlainTransaction {
  send(batch: { readonly topic: string; readonly messages: readonly PlainMessage[] }): Promise<unknown>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}

export interface PlainMessage {
  readonly key: string | Buffer | null;
  readonly value: string | Buffer | null;
  readonly partition?: number;
  readonly headers?: Readonly<Record<string, string | Buffer>>;
}

interface PlainConsumer extends Connected {
  subscribe(options: { readonly topic: string; readonly fromBeginning: true }): Promise<void>;
  run(options: { readonly eachBatch: (payload: EachBatch) => Promise<void> }): Promise<void>;
}

export interface EachBatch {
  readonly batch: {
    readonly partition: number;
    readonly messages: readonly { readonly key: Buffer | null; readonly value: Buffer | null; readonly offset: string }[];
  };
}

interface KafkaJs {
  readonly Kafka: new (options: {
    readonly clientId: string;
    readonly brokers: readonly string[];
    readonly logLevel: number;
    readonly retry: { readonly initialRetryTime: number; readonly maxRetryTime: number; readonly retries: number };
  }) => PlainKafka;
}

const NO_LOG = 0;

/**
 * A plain kafkajs client. `letQueuesIdle` patches kafkajs, whose idle connections would set timers with negative delays, and Node would warn of
 * them.
 */
export function plainKafka(brokers: readonly string[]): PlainKafka {
  letQueuesIdle();
  const driver = fileURLToPath(new URL('../../../../../packages/topics/package.json', import.meta.url));
  const { Kafka } = createRequire(driver)('kafkajs') as KafkaJs;
  const retry = { initialRetryTime: 50, maxRetryTime: 500, retries: 20 };
  return new Kafka({ clientId: 'onlooker', brokers: [...brokers], logLevel: NO_LOG, retry });
}

export async function sendPlainly(brokers: readonly string[], topic: string, messages: readonly PlainMessage[]): Promise<void> {
  const producer = plainKafka(brokers).producer({ allowAutoTopicCreation: false });
  await producer.connect();
  try {
    await producer.send({ topic, messages });
  } finally {
    await producer.disconnect();
  }
}
