import { createRequire } from 'node:module';
import type { Kafka, KafkaConfig, Partitioners, Producer } from 'kafkajs';
import type { TopicPartition } from '../topic-log.ts';
import { type InnerBroker, KafkajsCluster, clusterOptions } from './inner-cluster.ts';
import { placeOf } from './record-sender.ts';

export interface LaneProducerOptions {
  readonly kafka: Kafka;
  readonly config: KafkaConfig;
  readonly transactionalId: string;
  readonly transactionTimeoutMs: number;
}

/** A transactional producer that is thrown away at its first error, which is why it may remember what kafkajs asks anew each time. */
export interface LaneProducer extends Producer {
  /** The partitions the next transaction writes: the broker is told of them all at once. */
  announce(places: readonly TopicPartition[]): void;
}

interface Partitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}

/** A transaction's coordinator, as kafkajs 2.2.4 uses it (producer/eosManager/index.js). */
interface Coordinator extends InnerBroker {
  initProducerId(options: object): Promise<unknown>;
  addPartitionsToTxn(options: { readonly topics: readonly Partitions[] }): Promise<unknown>;
  addOffsetsToTxn(options: object): Promise<unknown>;
  endTxn(options: object): Promise<unknown>;
}

/** kafkajs's COORDINATOR_TYPES.TRANSACTION. */
const TRANSACTION = 1;

const require = createRequire(import.meta.url);
const createProducer = require('kafkajs/src/producer') as (options: object) => Producer;

/** kafkajs's own producer, on a cluster that spares it requests: 4 of 8 for a page with its checkpoint. */
export function laneProducer({ kafka, config, transactionalId, transactionTimeoutMs }: LaneProducerOptions): LaneProducer {
  const cluster = new RememberingCluster({ ...clusterOptions(kafka, config), maxInFlightRequests: 1 });
  const producer = createProducer({
    cluster,
    logger: kafka.logger(),
    retry: config.retry,
    idempotent: true,
    transactionalId,
    transactionTimeout: transactionTimeoutMs,
    createPartitioner: byTheirOwn,
  });
  return Object.assign(producer, {
    announce(places: readonly TopicPartition[]) {
      cluster.announced = places;
    },
  });
}

/** Records come with their partitions. */
const byTheirOwn: () => ReturnType<typeof Partitioners.DefaultPartitioner> =
  () =>
  ({ message: { partition } }) => {
    if (partition === undefined) throw new TypeError('A record has no partition.');
    return partition;
  };

class RememberingCluster extends KafkajsCluster {
  announced: readonly TopicPartition[] = [];
  readonly #coordinators = new Map<string, InnerBroker>();

  /** kafkajs asks for it before each request to it. */
  override async findGroupCoordinator(options: { readonly groupId: string; readonly coordinatorType?: number }): Promise<InnerBroker> {
    const name = `${options.coordinatorType} ${options.groupId}`;
    const known = this.#coordinators.get(name);
    if (known?.isConnected() === true) return known;
    const broker = await super.findGroupCoordinator(options);
    const found = options.coordinatorType === TRANSACTION ? this.#announcing(broker as Coordinator) : broker;
    this.#coordinators.set(name, found);
    return found;
  }

  /** kafkajs adds partitions to a transaction one send at a time. */
  #announcing(broker: Coordinator): InnerBroker {
    const added = new Set<string>();
    const coordinator: Partial<Coordinator> = {
      isConnected: () => broker.isConnected(),
      initProducerId: (options) => broker.initProducerId(options),
      addOffsetsToTxn: (options) => broker.addOffsetsToTxn(options),
      addPartitionsToTxn: async (options) => {
        const wanted = options.topics.flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition })));
        if (wanted.every(({ topic, partition }) => added.has(placeOf(topic, partition)))) return undefined;
        const all = new Map([...this.announced, ...wanted].map((place) => [placeOf(place.topic, place.partition), place]));
        const answer = await broker.addPartitionsToTxn({ ...options, topics: byTopic([...all.values()]) });
        for (const name of all.keys()) added.add(name);
        return answer;
      },
      endTxn: (options) => {
        added.clear();
        return broker.endTxn(options);
      },
    };
    return coordinator as InnerBroker;
  }
}

function byTopic(places: readonly TopicPartition[]): Partitions[] {
  const topics = new Map<string, number[]>();
  for (const { topic, partition } of places) topics.set(topic, [...(topics.get(topic) ?? []), partition]);
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}
