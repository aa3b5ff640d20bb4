import { createRequire } from 'node:module';
import type { Producer } from 'kafkajs';
import { answeredError } from '../client/ask.ts';
import type { Broker, Cluster, OffsetCommitOptions, ProduceOptions, ProducerEpoch, TransactionOptions } from '../client/broker.ts';
import { clusterOptions, newCluster } from '../client/kafkajs-cluster.ts';
import type { TopicPartition } from '../../topic-log.ts';
import type { BatchRecord } from '../record-batch/batch-record.ts';
import { encodeRecords } from '../record-batch/encode-records.ts';
import { notStale, notTooEarly } from '../producer/too-early.ts';
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

/** Topics and groups of which the next transaction to write to them says nothing to its coordinator, and what it says instead. */
const armed = new Map<string, Told>();
/** By client id: the error code that the next request of that name meets, or none. */
const refusals = new Map<string, (api: string) => number | undefined>();
let isPatched = false;

/** The topic that a transaction registers where it would register nothing else: without any the coordinator would refuse to end it. */
interface Told {
  readonly told: string | undefined;
}

/**
 * The next transaction in this process that writes to one of these topics, or commits offsets of one of these groups, gets no end marker there,
 * as from a broker that skips it. To be called before a lane is opened, or anything appended; `arm` says from when on. It answers whether that
 * has happened.
 */
export function forgetting(...names: readonly string[]): { readonly arm: (told?: string) => () => boolean } {
  patchBrokers();
  return {
    arm(told) {
      for (const name of names) armed.set(name, { told });
      return () => names.every((name) => !armed.has(name));
    },
  };
}

/** Has requests of a client, whose brokers it finds from now on, refused by the error codes that `codeFor` answers. */
export function refusing(client: string, codeFor: (api: string) => number | undefined): void {
  patchBrokers();
  refusals.set(client, codeFor);
}

function patchBrokers(): void {
  if (isPatched) return;
  isPatched = true;
  const { prototype } = require('kafkajs/src/cluster') as { readonly prototype: object };
  const patched = new WeakSet<Broker>();
  for (const name of ['findGroupCoordinator', 'findBroker']) {
    const find = Reflect.get(prototype, name) as (options: object) => Promise<Broker>;
    Reflect.set(prototype, name, async function (this: Cluster, options: object): Promise<Broker> {
      const broker = await Reflect.apply(find, this, [options]);
      if (!patched.has(broker)) {
        forgetIn(broker);
        refuseIn(broker);
      }
      patched.add(broker);
      if (name === 'findGroupCoordinator') assertTaken(broker, 'FindCoordinator');
      return broker;
    });
  }
}

function forgetIn(broker: Partial<Broker>): void {
  const { addPartitionsToTxn, addOffsetsToTxn, txnOffsetCommit, produceBatches } = broker;
  // kafkajs's own.
  if (addPartitionsToTxn === undefined || addOffsetsToTxn === undefined || txnOffsetCommit === undefined || produceBatches === undefined)
    return;
  const tell = async ({ told }: Told, transaction: TransactionOptions): Promise<void> => {
    const { transactionalId, producerId, producerEpoch } = transaction;
    if (told === undefined) return;
    const topics = [{ topic: told, partitions: [0] }];
    await notTooEarly(() => addPartitionsToTxn({ transactionalId, producerId, producerEpoch, topics }));
  };
  Object.assign(broker, {
    // A transaction that writes nothing names no protocol.
    async addPartitionsToTxn(request: AddedPartitions) {
      if (request.protocol === undefined) return await addPartitionsToTxn(request);
      const forgotten = request.topics.filter(({ topic }) => armed.has(topic));
      for (const { topic } of forgotten) await tell(armed.get(topic) ?? { told: undefined }, request);
      const topics = request.topics.filter((each) => !forgotten.includes(each));
      if (topics.length > 0) await addPartitionsToTxn({ ...request, topics });
      for (const { topic } of forgotten) armed.delete(topic);
    },
    async addOffsetsToTxn(request: Parameters<Broker['addOffsetsToTxn']>[0]) {
      if (request.protocol === undefined || !armed.delete(request.groupId)) await addOffsetsToTxn(request);
    },
    async txnOffsetCommit(request: OffsetCommitOptions) {
      if (request.protocol !== 2 || !armed.has(request.groupId)) return await txnOffsetCommit(request);
      await txnOffsetCommit({ ...request, protocol: 1 });
      armed.delete(request.groupId);
    },
    async produceBatches(request: ProduceOptions) {
      const { transactionalId, topicPartitions } = request;
      if (request.protocol !== 2 || transactionalId === null) return await produceBatches(request);
      const isForgotten = ({ topic }: TopicPartition): boolean => armed.has(topic);
      const forgotten = topicPartitions.filter(isForgotten);
      const rest = topicPartitions.filter((produced) => !isForgotten(produced));
      if (forgotten.length === 0) return await produceBatches(request);
      const told = rest.length === 0 ? [] : await produceBatches({ ...request, topicPartitions: rest });
      for (const { topic, batch } of forgotten)
        await tell(armed.get(topic) ?? { told: undefined }, { transactionalId, ...producerOf(batch) });
      // A broker takes it without a word to the coordinator.
      const untold = await produceBatches({ ...request, protocol: 1, topicPartitions: forgotten });
      for (const { topic } of forgotten) armed.delete(topic);
      return topicPartitions.map((produced) => untold[forgotten.indexOf(produced)] ?? told[rest.indexOf(produced)] ?? -1);
    },
  });
}

/** A batch's header names its producer: id at byte 43, epoch at byte 51. */
function producerOf(pieces: readonly Buffer[]): ProducerEpoch {
  const batch = Buffer.concat(pieces);
  return { producerId: batch.readBigInt64BE(43).toString(), producerEpoch: batch.readInt16BE(51) };
}

/** The requests of a coordinator, by the names of the driver's methods. */
const COORDINATED: Readonly<Record<string, string>> = {
  initProducerId: 'InitProducerId',
  addPartitionsToTxn: 'AddPartitionsToTxn',
  addOffsetsToTxn: 'AddOffsetsToTxn',
  txnOffsetCommit: 'TxnOffsetCommit',
  endTxn: 'EndTxn',
  pendingOffsets: 'OffsetFetch',
};

function refuseIn(broker: Broker): void {
  for (const [method, api] of Object.entries(COORDINATED)) {
    const request = Reflect.get(broker, method) as ((options: object) => Promise<unknown>) | undefined;
    if (request === undefined) continue;
    Reflect.set(broker, method, async (options: object) => {
      assertTaken(broker, api);
      return await Reflect.apply(request, broker, [options]);
    });
  }
}

function assertTaken(broker: Broker, api: string): void {
  const code = refusals.get((broker.connectionPool as { readonly clientId?: string }).clientId ?? '')?.(api);
  if (code !== undefined) throw answeredError(code);
}

type AddedPartitions = Parameters<Broker['addPartitionsToTxn']>[0];

function without(forgotten: string, request: AddedPartitions): AddedPartitions {
  return { ...request, topics: request.topics.filter(({ topic }) => topic !== forgotten) };
}
