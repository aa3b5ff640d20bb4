import type { OffsetCommit, OffsetPlace, TopicPartition } from '../../topic-log.ts';
import { byTopic, partitionKey } from '../../topic-partition.ts';
import { answeredError, oneError } from '../client/ask.ts';
import type { Broker, Cluster, ProducerEpoch, TransactionOptions } from '../client/broker.ts';
import { isTimeoutRefused } from '../client/error-kinds.ts';
import { type RecordBatch, batchPieces } from '../record-batch/index.ts';
import { STARTING } from '../client/kafka-errors.ts';
import { askLeaders } from '../consumer/fetch.ts';
import { notStale, notTooEarly } from './too-early.ts';

export interface TransactionalProducerOptions {
  /** Its own: the producer connects and disconnects it. */
  readonly cluster: Cluster;
  readonly transactionalId: string;
  /** How long brokers keep the transaction of a silent producer. Shortened where they allow less, for all producers that share it. */
  readonly transactionTimeout: { ms: number };
}

/** A batch and where it goes. */
export interface PartitionBatch extends TopicPartition {
  readonly batch: RecordBatch;
}

/** Where a transaction writes: partitions, and offsets of groups. */
export interface Touched {
  readonly topicPartitions: readonly TopicPartition[];
  readonly offsets: readonly OffsetPlace[];
}

/** Collects where transactions write, each place once. */
export class Places {
  readonly #topicPartitions = new Map<string, TopicPartition>();
  readonly #offsets = new Map<string, OffsetPlace>();

  add({ topicPartitions = [], offsets = [] }: Partial<Touched>): this {
    for (const { topic, partition } of topicPartitions) this.#topicPartitions.set(partitionKey({ topic, partition }), { topic, partition });
    for (const { group, topic, partition } of offsets)
      this.#offsets.set(`${group} ${partitionKey({ topic, partition })}`, { group, topic, partition });
    return this;
  }

  get all(): Touched {
    return { topicPartitions: [...this.#topicPartitions.values()], offsets: [...this.#offsets.values()] };
  }
}

interface Fenced {
  readonly coordinator: Broker;
  readonly transaction: TransactionOptions;
}

/** kafkajs's COORDINATOR_TYPES. */
const GROUP = 0;
const TRANSACTION = 1;
/** After that many records their numbers begin at 0 again. */
export const SEQUENCES: number = 2 ** 31;
const UNKNOWN_TOPIC_OR_PARTITION = 3;
/** With less a transaction of some pages may not be done in time. */
const SHORTEST_TIMEOUT_MS = 1_000;

/**
 * A transactional producer of our own on kafkajs's connections. After an error it isn't used again: how far the brokers have got is unknown then,
 * and a batch that is sent again under a number already used would be acknowledged without being appended. A new producer of the transactional
 * id continues, by `transaction-law.ts`.
 */
export class TransactionalProducer {
  readonly #options: TransactionalProducerOptions;
  /** By topic and partition (`partitionKey`), the number of the next record. */
  readonly #sequences = new Map<string, number>();
  readonly #groupCoordinators = new Map<string, Broker>();
  #fenced: Fenced | undefined;

  constructor(options: TransactionalProducerOptions) {
    this.#options = options;
  }

  /** Fences no other producer yet. */
  async connect(): Promise<void> {
    await this.#options.cluster.connect();
  }

  async disconnect(): Promise<void> {
    await this.#options.cluster.disconnect();
  }

  /** As which the next transaction is written. */
  get epoch(): ProducerEpoch {
    const { producerId, producerEpoch } = this.#begun.transaction;
    return { producerId, producerEpoch };
  }

  /** The number of the next record in a partition. */
  sequence(topicPartition: TopicPartition): number {
    return this.#sequences.get(partitionKey(topicPartition)) ?? 0;
  }

  /** Begins a transaction that writes to these partitions. */
  async begin(topicPartitions: readonly TopicPartition[]): Promise<void> {
    const { coordinator, transaction } = this.#begun;
    const topics = byTopic(topicPartitions);
    await notStale(() => this.#options.cluster.addMultipleTargetTopics(topics.map(({ topic }) => topic)));
    if (transaction.protocol === 1) await notTooEarly(() => coordinator.addPartitionsToTxn({ ...transaction, topics }));
  }

  /**
   * Sends a batch to each of these partitions, of which none comes twice: one request to each of their leaders. Where a broker doesn't lead a
   * partition, or doesn't know it yet, the same batch goes to the one that fresh metadata names, under the same number: a leader that has it
   * already acknowledges it. Resolves to the offset of each batch's first record, by `partitionKey`.
   */
  async send(batches: readonly PartitionBatch[]): Promise<ReadonlyMap<string, number>> {
    const offsets = new Map<string, number>();
    await notStale(
      () => this.#sendRest(batches, offsets),
      () => this.#options.cluster.refreshMetadata(),
    );
    return offsets;
  }

  /** Sends the batches that have no offset yet, and notes those that they get. */
  async #sendRest(batches: readonly PartitionBatch[], offsets: Map<string, number>): Promise<void> {
    const rest = batches.filter((batch) => !offsets.has(partitionKey(batch)));
    const byLeader = Map.groupBy(rest, (batch) => this.#leaderOf(batch));
    // An abort may not overtake a request to another leader.
    const answers = await Promise.allSettled(Array.from(byLeader, ([nodeId, its]) => this.#produce(nodeId, its)));
    for (const answer of answers) if (answer.status === 'fulfilled') for (const [key, offset] of answer.value) offsets.set(key, offset);
    const error = oneError(answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : [])));
    if (error !== undefined) throw error;
  }

  /** Commits offsets of groups with the transaction, which has begun. */
  async sendOffsets(offsets: readonly OffsetCommit[]): Promise<void> {
    const { coordinator, transaction } = this.#begun;
    for (const [groupId, commits] of Map.groupBy(offsets, ({ group }) => group)) {
      const request = { ...transaction, groupId };
      if (request.protocol === 1) await notTooEarly(() => coordinator.addOffsetsToTxn(request));
      // Of a partition the last one counts.
      const last = new Map(commits.map((commit) => [partitionKey(commit), commit]));
      const topicPartitions = Array.from(last.values(), ({ topic, partition, nextOffset }) => ({ topic, partition, offset: nextOffset }));
      const groupCoordinator = await this.#groupCoordinator(groupId);
      await notTooEarly(() => groupCoordinator.txnOffsetCommit({ ...request, topicPartitions }));
    }
  }

  async commit(): Promise<void> {
    const { coordinator, transaction } = this.#begun;
    const next = await notTooEarly(() => coordinator.endTxn({ ...transaction, transactionResult: true }));
    // A new epoch numbers the records of a partition from 0.
    if (transaction.protocol === 2) this.#sequences.clear();
    this.#fenced = { coordinator, transaction: { ...transaction, ...next } };
  }

  /** Writes an end marker to each of these partitions and groups, by a transaction that writes nothing else. */
  async endAgain({ topicPartitions, offsets }: Touched, transactionResult: boolean): Promise<void> {
    if (topicPartitions.length + offsets.length === 0) return;
    const { coordinator, transaction: own } = this.#begun;
    // In protocol 1, which announces partitions; the epoch stays.
    const { protocol: _, ...transaction } = own;
    const topics = byTopic(topicPartitions);
    if (topics.length > 0) await notTooEarly(() => coordinator.addPartitionsToTxn({ ...transaction, topics }));
    for (const groupId of new Set(offsets.map(({ group }) => group)))
      await notTooEarly(() => coordinator.addOffsetsToTxn({ ...transaction, groupId }));
    await notTooEarly(() => coordinator.endTxn({ ...transaction, transactionResult }));
  }

  /** Those of the partitions in which a transaction of this producer is open, or may be. */
  async openPartitions(topicPartitions: readonly TopicPartition[]): Promise<readonly TopicPartition[]> {
    const { producerId } = this.#begun.transaction;
    return await askLeaders(this.#options.cluster, topicPartitions, (leader, its) =>
      leader.openTransactions({ topicPartitions: its, producerId }),
    );
  }

  /** Those of the offsets that a transaction may still commit. */
  async pendingOffsets<Place extends OffsetPlace>(offsets: readonly Place[]): Promise<readonly Place[]> {
    const pending: Place[] = [];
    for (const [groupId, its] of Map.groupBy(offsets, ({ group }) => group)) {
      const coordinator = await this.#groupCoordinator(groupId);
      const found = new Set((await coordinator.pendingOffsets({ groupId, topicPartitions: its })).map(partitionKey));
      pending.push(...its.filter((place) => found.has(partitionKey(place))));
    }
    return pending;
  }

  get #begun(): Fenced {
    if (this.#fenced === undefined) throw new TypeError('No transaction has begun.');
    return this.#fenced;
  }

  /** Fences every older producer of the transactional id, and has the coordinator abort the transaction that it knows as open. */
  async fence(): Promise<void> {
    const { cluster, transactionalId, transactionTimeout } = this.#options;
    if (cluster.brokerPool.metadata === null) await cluster.refreshMetadata();
    const fence = async (transactionTimeoutMs: number): Promise<Fenced> => {
      const coordinator = await cluster.findGroupCoordinator({ groupId: transactionalId, coordinatorType: TRANSACTION });
      const producer = await coordinator.initProducerId({ transactionalId, transactionTimeout: transactionTimeoutMs });
      return { coordinator, transaction: { transactionalId, ...producer, protocol: await coordinator.transactionProtocol() } };
    };
    for (;;) {
      const { ms } = transactionTimeout;
      try {
        this.#fenced = await notTooEarly(() => fence(ms), STARTING);
        return;
      } catch (error) {
        if (!isTimeoutRefused(error) || ms < 2 * SHORTEST_TIMEOUT_MS) throw error;
        transactionTimeout.ms = Math.min(transactionTimeout.ms, Math.floor(ms / 2));
      }
    }
  }

  #leaderOf({ topic, partition }: TopicPartition): string {
    const [nodeId] = Object.keys(this.#options.cluster.findLeaderForPartitions(topic, [partition]));
    if (nodeId === undefined) throw answeredError(UNKNOWN_TOPIC_OR_PARTITION, { topic });
    return nodeId;
  }

  async #produce(nodeId: string, batches: readonly PartitionBatch[]): Promise<[key: string, offset: number][]> {
    const leader = await this.#options.cluster.findBroker({ nodeId });
    const { transactionalId, protocol = 1, ...producer } = this.#begun.transaction;
    const topicPartitions = batches.map(({ topic, partition, batch }) => {
      const baseSequence = this.#sequences.get(partitionKey({ topic, partition })) ?? 0;
      return { topic, partition, batch: batchPieces(batch, { ...producer, baseSequence }) };
    });
    const offsets = await notTooEarly(() => leader.produceBatches({ transactionalId, protocol, topicPartitions }));
    return batches.map(({ topic, partition, batch }, index) => {
      const key = partitionKey({ topic, partition });
      this.#sequences.set(key, ((this.#sequences.get(key) ?? 0) + batch.count) % SEQUENCES);
      return [key, offsets[index] ?? -1];
    });
  }

  async #groupCoordinator(groupId: string): Promise<Broker> {
    const known = this.#groupCoordinators.get(groupId);
    if (known !== undefined) return known;
    const coordinator = await this.#options.cluster.findGroupCoordinator({ groupId, coordinatorType: GROUP });
    this.#groupCoordinators.set(groupId, coordinator);
    return coordinator;
  }
}
