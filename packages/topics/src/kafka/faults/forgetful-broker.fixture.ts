import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import type { Producer } from 'kafkajs';
import { answeredError } from '../client/answered-error.ts';
import { Cluster } from '../client/cluster.ts';
import { plainCluster } from '../client/plain-cluster.fixture.ts';
import type { TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { BatchRecord } from '../wire/batch-record.ts';
import { encodeRecords } from '../wire/encode-records.ts';
import { batchPieces } from '../wire/record-batch.ts';
import { TransactionalProducer } from '../producer/transactional-producer.ts';
import type { AboutPartitions, Answered, Request } from '../requests/request.ts';
import {
  type ProduceOptions,
  type ProducerEpoch,
  type TransactionOptions,
  addOffsetsToTxn,
  addPartitionsToTxn,
  endTxn,
  initProducerId,
  produce,
  txnOffsetCommit,
} from '../requests/transactions.ts';
import { DEFAULT_SESSION } from '../../../../../scripts/kafka-broker-under-test.ts';
import { kafkajsSockets } from './kafkajs-sockets.fixture.ts';
import { plainKafka } from './committed-records.fixture.ts';

const require = createRequire(import.meta.url);
const createProducer = require('kafkajs/src/producer') as (options: object) => Producer;
const KafkajsCluster = require('kafkajs/src/cluster') as new (options: object) => {
  findGroupCoordinator(options: { readonly groupId: string; readonly coordinatorType?: number }): Promise<object>;
};

/** Settings of a broker that lets transactions write to partitions that they haven't announced, and that stays in its cluster on a busy machine. */
export const FORGETFUL = {
  'transaction.partition.verification.enable': 'false',
  ...DEFAULT_SESSION,
};

/**
 * A kafkajs producer that doesn't announce one topic to its coordinator. Its records there get no end marker when the transaction ends, as if a
 * broker was killed after the decision, but before it wrote the markers.
 */
export function forgottenTopicProducer(brokers: readonly string[], transactionalId: string, forgotten: string): Producer {
  const kafka = plainKafka(brokers);
  class ForgetfulCluster extends KafkajsCluster {
    override async findGroupCoordinator(options: { readonly groupId: string; readonly coordinatorType?: number }): Promise<object> {
      const coordinator = (await super.findGroupCoordinator(options)) as Coordinator;
      const answering: Coordinator = {
        initProducerId: (request) => coordinator.initProducerId(request),
        endTxn: (request) => coordinator.endTxn(request),
        addPartitionsToTxn: async (request) => {
          const topics = request.topics.filter(({ topic }) => topic !== forgotten);
          if (topics.length > 0) await coordinator.addPartitionsToTxn({ ...request, topics });
        },
      };
      return answering;
    }
  }
  const cluster = new ForgetfulCluster({
    brokers: [...brokers],
    socketFactory: kafkajsSockets(),
    connectionTimeout: 1_000,
    requestTimeout: 30_000,
    enforceRequestTimeout: true,
    logger: kafka.logger(),
    metadataMaxAge: 30_000,
    allowAutoTopicCreation: false,
    isolationLevel: 1,
    maxInFlightRequests: 1,
  });
  return createProducer({ cluster, logger: kafka.logger(), idempotent: true, transactionalId, transactionTimeout: 60_000 });
}

interface Coordinator {
  initProducerId(request: object): Promise<unknown>;
  endTxn(request: object): Promise<unknown>;
  addPartitionsToTxn(request: { readonly topics: readonly { readonly topic: string }[] }): Promise<unknown>;
}

/** Like `forgottenTopicProducer`, but in one transaction of protocol 2: two topics get a record each, and `forgotten` gets no end marker. */
export async function forgottenTopicTransaction(options: {
  readonly brokers: readonly string[];
  readonly transactionalId: string;
  readonly told: TopicPartition & { readonly record: BatchRecord };
  readonly forgotten: TopicPartition & { readonly record: BatchRecord };
  readonly end: 'commit' | 'abort';
}): Promise<void> {
  const { brokers, transactionalId, told, forgotten, end } = options;
  const cluster = plainCluster(brokers);
  const producer = await cluster.ask(initProducerId, { transactionalId, transactionTimeout: 60_000 });
  for (const [{ topic, partition, record }, protocol] of [
    [told, 2],
    // In protocol 1, the broker accepts the batch without announcing the partition to the coordinator.
    [forgotten, 1],
  ] as const) {
    const batch = { records: encodeRecords([record]).bytes, count: 1, timestampMs: Date.now(), codec: 0 };
    const topicPartitions = [{ topic, partition, batch: batchPieces(batch, { ...producer, baseSequence: 0 }) }];
    await cluster.ask(produce[protocol], { transactionalId, topicPartitions });
  }
  await cluster.ask(endTxn[2], { transactionalId, ...producer, transactionResult: end === 'commit' });
  cluster.close();
}

/** Topics and groups that the next transaction doesn't announce to its coordinator. */
const armed = new Map<string, Told>();
/** By client ID, a function that returns the error code with which a request is refused, or undefined to let it pass. */
const refusals = new Map<string, (api: string) => number | undefined>();
let isPatched = false;

/** A topic that the transaction announces instead. Without any announced partition, the coordinator would refuse to end the transaction. */
interface Told {
  readonly told: string | undefined;
}

/**
 * After `arm`, the next transaction in this process that writes to one of these topics, or commits offsets of one of these groups, gets no end marker
 * there, as if the broker skipped it. Call `forgetting` before a lane is opened or a record is appended. The function that `arm` returns tells
 * whether all names have been skipped.
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

/** Refuses a client's requests to coordinators with the error codes that `codeFor` returns. */
export function refusing(client: string, codeFor: (api: string) => number | undefined): void {
  patchBrokers();
  refusals.set(client, codeFor);
}

/** Set during `endAgain`, whose empty transaction must reach all partitions. */
const endingAgain = new AsyncLocalStorage<true>();

function patchBrokers(): void {
  if (isPatched) return;
  isPatched = true;
  const exchange = Reflect.get(Cluster.prototype, 'exchange');
  Cluster.prototype.exchange = async function <Options, Answer>(
    this: Cluster,
    broker: string,
    request: Request<Options, Answer>,
    options: Options,
  ) {
    const { clientId } = this.config;
    const code = COORDINATED.has(request.api) ? refusals.get(clientId)?.(request.api) : undefined;
    if (code !== undefined) throw answeredError(code);
    const sending: Sending = { cluster: this, send: async (asked, its) => await exchange.call(this, broker, asked as never, its) };
    const forgotten = endingAgain.getStore() ? undefined : await forget(sending, request, options as object);
    return (forgotten ?? (await exchange.call(this, broker, request as never, options))) as Answered<Answer>;
  };
  const endAgain = Reflect.get(TransactionalProducer.prototype, 'endAgain');
  TransactionalProducer.prototype.endAgain = async function (...args) {
    await endingAgain.run(true, () => endAgain.apply(this, args));
  };
}

type Done = Answered<ReadonlyMap<string, unknown>>;

interface Sending {
  readonly cluster: Cluster;
  readonly send: (request: unknown, options: object) => Promise<Answered<unknown>>;
}

/** Returns a response in place of the broker's if the request is about an armed topic or group; otherwise undefined. */
async function forget(sending: Sending, request: unknown, options: object): Promise<Answered<unknown> | undefined> {
  if (request === addPartitionsToTxn) return await forgetPartitions(sending, options as TransactionOptions & AboutPartitions);
  if (request === produce[2]) return await forgetRecords(sending, options as ProduceOptions);
  const { groupId } = options as { readonly groupId: string };
  if (request === addOffsetsToTxn && armed.delete(groupId)) return { throttleMs: 0, refusals: [], answer: undefined };
  if (request !== txnOffsetCommit[2] || !armed.has(groupId)) return undefined;
  const answered = await sending.send(txnOffsetCommit[1], options);
  if (answered.refusals.length === 0) armed.delete(groupId);
  return answered;
}

async function forgetPartitions(sending: Sending, options: TransactionOptions & AboutPartitions): Promise<Done | undefined> {
  const { forgotten, rest } = split(options.topicPartitions);
  if (forgotten.length === 0) return undefined;
  for (const { topic } of forgotten) await tell(sending, topic, options);
  const told = await sendRest(sending, addPartitionsToTxn, options, rest);
  if (told.refusals.length > 0) return told;
  for (const { topic } of forgotten) armed.delete(topic);
  return { ...told, answer: new Map([...told.answer, ...forgotten.map((place) => [partitionKey(place), undefined] as const)]) };
}

async function forgetRecords(sending: Sending, options: ProduceOptions): Promise<Done | undefined> {
  const { forgotten, rest } = split(options.topicPartitions);
  const { transactionalId } = options;
  if (forgotten.length === 0 || transactionalId === null) return undefined;
  const told = await sendRest(sending, produce[2], options, rest);
  if (told.refusals.length > 0) return told;
  for (const { topic, batch } of forgotten) await tell(sending, topic, { transactionalId, ...producerOf(batch) });
  // In protocol 1, the broker accepts the batches without announcing the partitions to the coordinator.
  const untold = (await sending.send(produce[1], { ...options, topicPartitions: forgotten })) as Done;
  if (untold.refusals.length === 0) for (const { topic } of forgotten) armed.delete(topic);
  return { ...untold, answer: new Map([...told.answer, ...untold.answer]) };
}

function split<Place extends TopicPartition>(
  all: readonly Place[],
): { readonly forgotten: readonly Place[]; readonly rest: readonly Place[] } {
  const forgotten = all.filter(({ topic }) => armed.has(topic));
  return { forgotten, rest: all.filter((place) => !forgotten.includes(place)) };
}

async function sendRest({ send }: Sending, request: unknown, options: object, rest: readonly TopicPartition[]): Promise<Done> {
  if (rest.length === 0) return { throttleMs: 0, refusals: [], answer: new Map() };
  return (await send(request, { ...options, topicPartitions: rest })) as Done;
}

async function tell(
  { cluster }: Sending,
  topic: string,
  { transactionalId, producerId, producerEpoch }: TransactionOptions,
): Promise<void> {
  const { told } = armed.get(topic) ?? { told: undefined };
  if (told === undefined) return;
  await cluster.ask(addPartitionsToTxn, { transactionalId, producerId, producerEpoch, topicPartitions: [{ topic: told, partition: 0 }] });
}

/** Reads the producer from a batch's header: its ID is at byte 43, its epoch at byte 51. */
function producerOf(pieces: readonly Buffer[]): ProducerEpoch {
  const batch = Buffer.concat(pieces);
  return { producerId: batch.readBigInt64BE(43).toString(), producerEpoch: batch.readInt16BE(51) };
}

/** Requests that find a coordinator, take part in a transaction, or fetch a group's offsets. */
const COORDINATED: ReadonlySet<string> = new Set([
  'FindCoordinator',
  'InitProducerId',
  'AddPartitionsToTxn',
  'AddOffsetsToTxn',
  'TxnOffsetCommit',
  'EndTxn',
  'OffsetFetch',
]);
