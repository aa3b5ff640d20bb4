import { createRequire } from 'node:module';
import type { Kafka, KafkaConfig, Partitioners, Producer } from 'kafkajs';
import type { TopicPartition } from '../../topic-log.ts';
import { isTimeoutRefused } from '../client/error-kinds.ts';
import type { Coordinator, InitOptions } from '../client/coordinator.ts';
import type { Broker } from '../client/broker.ts';
import { KafkajsCluster, clusterOptions } from '../client/kafkajs-cluster.ts';
import type { HangingTransaction } from '../lane/hanging-transaction.ts';
import { byTopic, partitionKey } from '../../topic-partition.ts';
import type { TransactionTimeout } from './transaction-timeout.ts';

export interface TransactionalProducerOptions {
  readonly kafka: Kafka;
  readonly config: KafkaConfig;
  readonly transactionalId: string;
  readonly transactionTimeout: TransactionTimeout;
  /** To be ended before the first transaction. */
  readonly hanging: HangingTransaction;
}

/** A transactional producer. Its owner discards it at the first error, so it may cache answers that kafkajs requests again each time. */
export interface TransactionalProducer extends Producer {
  /** Registers the partitions that the next transaction writes, all in one request to the broker. */
  announce(topicPartitions: readonly TopicPartition[]): void;
  /** True when the coordinator has gone since the last transaction, and may have failed to write its markers. */
  isOutdated(): boolean;
}

/** kafkajs's COORDINATOR_TYPES.TRANSACTION. */
const TRANSACTION = 1;

const require = createRequire(import.meta.url);
const createProducer = require('kafkajs/src/producer') as (options: object) => Producer;

/** kafkajs's own producer, on a cluster that spares it requests: 4 of 8 for a page with its checkpoint. */
export function transactionalProducer({
  kafka,
  config,
  transactionalId,
  transactionTimeout,
  hanging,
}: TransactionalProducerOptions): TransactionalProducer {
  const cluster = new CachingCluster({ ...clusterOptions(kafka, config), maxInFlightRequests: 1 }, { hanging, transactionTimeout });
  const producer = createProducer({
    cluster,
    logger: kafka.logger(),
    retry: config.retry,
    idempotent: true,
    transactionalId,
    transactionTimeout: transactionTimeout.ms,
    createPartitioner: byTheirOwn,
  });
  return Object.assign(producer, {
    announce(topicPartitions: readonly TopicPartition[]) {
      cluster.announced = topicPartitions;
    },
    // The broker's own isConnected is false also when it is time to authenticate again.
    isOutdated: () => cluster.coordinator?.connectionPool.isConnected() === false,
  });
}

/** Records come with their partitions. */
const byTheirOwn: () => ReturnType<typeof Partitioners.DefaultPartitioner> =
  () =>
  ({ message: { partition } }) => {
    if (partition === undefined) throw new TypeError('A record has no partition.');
    return partition;
  };

class CachingCluster extends KafkajsCluster {
  announced: readonly TopicPartition[] = [];
  /** The coordinator of the transactions. */
  coordinator: Coordinator | undefined;
  readonly #options: Pick<TransactionalProducerOptions, 'hanging' | 'transactionTimeout'>;
  readonly #coordinators = new Map<string, Broker>();

  constructor(options: object, own: Pick<TransactionalProducerOptions, 'hanging' | 'transactionTimeout'>) {
    super(options);
    this.#options = own;
  }

  /** kafkajs looks the coordinator up before each request to it. */
  override async findGroupCoordinator(options: { readonly groupId: string; readonly coordinatorType?: number }): Promise<Broker> {
    const name = `${options.coordinatorType} ${options.groupId}`;
    const known = this.#coordinators.get(name);
    if (known?.isConnected() === true) return known;
    const broker = await super.findGroupCoordinator(options);
    if (options.coordinatorType !== TRANSACTION) {
      this.#coordinators.set(name, broker);
      return broker;
    }
    this.coordinator = broker as Coordinator;
    const announcing = this.#announcing(this.coordinator);
    this.#coordinators.set(name, announcing);
    return announcing;
  }

  /** kafkajs adds partitions to a transaction one send at a time. */
  #announcing(broker: Coordinator): Broker {
    const added = new Set<string>();
    const coordinator: Partial<Coordinator> = {
      isConnected: () => broker.isConnected(),
      initProducerId: (options) => this.#fence(broker, options),
      addOffsetsToTxn: (options) => broker.addOffsetsToTxn(options),
      addPartitionsToTxn: async (options) => {
        const wanted = options.topics.flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition })));
        if (wanted.every(({ topic, partition }) => added.has(partitionKey({ topic, partition })))) return undefined;
        const all = new Map([...this.announced, ...wanted].map((topicPartition) => [partitionKey(topicPartition), topicPartition]));
        const answer = await broker.addPartitionsToTxn({ ...options, topics: byTopic([...all.values()]) });
        for (const name of all.keys()) added.add(name);
        return answer;
      },
      endTxn: (options) => {
        added.clear();
        return broker.endTxn(options);
      },
    };
    return coordinator as Broker;
  }

  async #fence(broker: Coordinator, options: InitOptions): ReturnType<Coordinator['initProducerId']> {
    const { hanging, transactionTimeout } = this.#options;
    for (;;) {
      const { ms } = transactionTimeout;
      try {
        return await hanging.fence(broker, { ...options, transactionTimeout: ms });
      } catch (error) {
        if (!isTimeoutRefused(error) || !transactionTimeout.shorten(ms)) throw error;
      }
    }
  }
}
