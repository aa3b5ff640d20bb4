import { createRequire } from 'node:module';
import type { Producer } from 'kafkajs';
import type { Broker, Cluster, ProduceOptions } from '../client/broker.ts';
import { clusterOptions, newCluster } from '../client/kafkajs-cluster.ts';
import type { TopicPartition } from '../../topic-log.ts';
import type { BatchRecord } from '../record-batch/batch-record.ts';
import { encodeRecords } from '../record-batch/encode-records.ts';
import { notStale } from '../producer/too-early.ts';
import { batchPieces } from '../record-batch/index.ts';
import { kafkajsSockets } from './kafkajs-sockets.fixture.ts';
import { plainKafka } from './committed-records.fixture.ts';

const require = createRequire(import.meta.url);
const createProducer = require('kafkajs/src/producer') as (options: object) => Producer;
const KafkajsCluster = require('kafkajs/src/cluster') as new (options: object) => Cluster;

/** A broker that lets transactions write where they have not said they would. */
export const FORGETFUL = { 'transaction.partition.verification.enable': 'false' };

/**
 * kafkajs's producer, whose coordinator does not hear of one topic: what it writes there gets no mark when its transaction ends, as from a
 * broker that was killed between the decision and the marks.
 */
export function forgottenTopicProducer(brokers: readonly string[], transactionalId: string, forgotten: string): Producer {
  const kafka = plainKafka(brokers);
  class ForgetfulCluster extends KafkajsCluster {
    override async findGroupCoordinator(options: { readonly groupId: string; readonly coordinatorType?: number }): Promise<Broker> {
      const coordinator = await super.findGroupCoordinator(options);
      const answering: Partial<Broker> = {
        initProducerId: (request) => coordinator.initProducerId(request),
        endTxn: (request) => coordinator.endTxn(request),
        addPartitionsToTxn: async (request) => {
          const { topics } = without(forgotten, request);
          if (topics.length > 0) await coordinator.addPartitionsToTxn({ ...request, topics });
        },
      };
      return answering as Broker;
    }
  }
  const cluster = new ForgetfulCluster({
    ...clusterOptions({ brokers: [...brokers], socketFactory: kafkajsSockets() }),
    maxInFlightRequests: 1,
  });
  return createProducer({ cluster, logger: kafka.logger(), idempotent: true, transactionalId, transactionTimeout: 60_000 });
}

/** As such a producer's first transaction, in protocol 2: two topics get a record each, and one of them no mark. */
export async function forgottenTopicTransaction(options: {
  readonly brokers: readonly string[];
  readonly transactionalId: string;
  readonly told: TopicPartition & { readonly record: BatchRecord };
  readonly forgotten: TopicPartition & { readonly record: BatchRecord };
  readonly end: 'commit' | 'abort';
}): Promise<void> {
  const { brokers, transactionalId, told, forgotten, end } = options;
  const config = { brokers: [...brokers], requestTimeout: 30_000, socketFactory: kafkajsSockets() };
  const cluster = newCluster(config);
  await cluster.connect();
  await cluster.addMultipleTargetTopics([told.topic, forgotten.topic]);
  const broker = await cluster.findGroupCoordinator({ groupId: transactionalId, coordinatorType: 1 });
  const producer = await broker.initProducerId({ transactionalId, transactionTimeout: 60_000 });
  for (const [{ topic, partition, record }, protocol] of [
    [told, 2],
    // A broker takes it without a word to the coordinator.
    [forgotten, 1],
  ] as const) {
    const batch = { records: encodeRecords([record]).bytes, count: 1, timestampMs: Date.now(), codec: 0 };
    const topicPartitions = [{ topic, partition, batch: batchPieces(batch, { ...producer, baseSequence: 0 }) }];
    // A broker that has just been made leader may not know it yet.
    await notStale(
      () => broker.produceBatches({ transactionalId, protocol, topicPartitions }),
      () => cluster.refreshMetadata(),
    );
  }
  await broker.endTxn({ transactionalId, ...producer, protocol: 2, transactionResult: end === 'commit' });
  await cluster.disconnect();
}

/** Topics that the next transaction to write to them doesn't register with its coordinator. */
const armed = new Set<string>();
let isPatched = false;

/**
 * The next transaction in this process that writes to one of these topics gets no end marker there, as from a broker that skips it. To be called
 * before a lane is opened, or anything appended; `arm` says from when on. It answers whether that has happened.
 */
export function forgetting(...topics: readonly string[]): { readonly arm: () => () => boolean } {
  if (!isPatched) patchBrokers();
  isPatched = true;
  return {
    arm() {
      for (const topic of topics) armed.add(topic);
      return () => topics.every((topic) => !armed.has(topic));
    },
  };
}

function patchBrokers(): void {
  const { prototype } = require('kafkajs/src/cluster') as { readonly prototype: object };
  const patched = new WeakSet<Broker>();
  for (const name of ['findGroupCoordinator', 'findBroker']) {
    const find = Reflect.get(prototype, name) as (options: object) => Promise<Broker>;
    Reflect.set(prototype, name, async function (this: Cluster, options: object): Promise<Broker> {
      const broker = await Reflect.apply(find, this, [options]);
      if (!patched.has(broker)) forgetIn(broker);
      patched.add(broker);
      return broker;
    });
  }
}

function forgetIn(broker: Partial<Broker>): void {
  const { addPartitionsToTxn, produceBatches } = broker;
  // kafkajs's own.
  if (addPartitionsToTxn === undefined || produceBatches === undefined) return;
  Object.assign(broker, {
    // A transaction that writes nothing names no protocol.
    addPartitionsToTxn(request: AddedPartitions) {
      const topics = request.protocol === undefined ? request.topics : request.topics.filter(({ topic }) => !armed.delete(topic));
      return addPartitionsToTxn({ ...request, topics });
    },
    async produceBatches(request: ProduceOptions) {
      if (request.protocol !== 2) return await produceBatches(request);
      const isForgotten = ({ topic }: TopicPartition): boolean => armed.has(topic);
      const forgotten = request.topicPartitions.filter(isForgotten);
      const rest = request.topicPartitions.filter((produced) => !isForgotten(produced));
      if (forgotten.length === 0) return await produceBatches(request);
      const told = rest.length === 0 ? [] : await produceBatches({ ...request, topicPartitions: rest });
      // A broker takes it without a word to the coordinator.
      const untold = await produceBatches({ ...request, protocol: 1, topicPartitions: forgotten });
      for (const { topic } of forgotten) armed.delete(topic);
      return request.topicPartitions.map((produced) => untold[forgotten.indexOf(produced)] ?? told[rest.indexOf(produced)] ?? -1);
    },
  });
}

type AddedPartitions = Parameters<Broker['addPartitionsToTxn']>[0];

function without(forgotten: string, request: AddedPartitions): AddedPartitions {
  return { ...request, topics: request.topics.filter(({ topic }) => topic !== forgotten) };
}
