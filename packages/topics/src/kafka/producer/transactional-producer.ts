import type { OffsetCommit, OffsetPlace, TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { Cluster } from '../client/cluster.ts';
import { type RecordBatch, batchPieces } from '../wire/record-batch.ts';
import {
  type ProducerEpoch,
  type TransactionOptions,
  type TransactionProtocol,
  addOffsetsToTxn,
  addPartitionsToTxn,
  endTxn,
  initProducerId,
  produce,
  transactionProtocol,
  txnOffsetCommit,
} from '../requests/transactions.ts';

export interface PartitionBatch extends TopicPartition {
  readonly batch: RecordBatch;
}

/** Where a transaction writes: partitions, and offsets of groups. */
export interface Touched {
  readonly topicPartitions: readonly TopicPartition[];
  readonly offsets: readonly OffsetPlace[];
}

export function isAnywhere({ topicPartitions, offsets }: Touched): boolean {
  return topicPartitions.length + offsets.length > 0;
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
  readonly transaction: TransactionOptions;
  readonly protocol: TransactionProtocol;
}

/** How many sequence numbers there are. After the last one, numbering starts again at 0. */
export const SEQUENCES: number = 2 ** 31;

/**
 * Headgate's transactional producer. Don't use it again after an error: it's unknown then what the brokers have appended,
 * and they would acknowledge a batch under a used number without appending it. A new producer of the transactional ID continues, as
 * `transaction-law.ts` describes.
 */
export class TransactionalProducer {
  readonly #cluster: Cluster;
  readonly #transactionalId: string;
  readonly #transactionTimeoutMs: number;
  readonly #sequences = new Map<string, number>();
  #fenced: Fenced | undefined;

  /** `transactionTimeoutMs`: how long brokers keep a transaction open. */
  constructor(cluster: Cluster, transactionalId: string, transactionTimeoutMs: number) {
    this.#cluster = cluster;
    this.#transactionalId = transactionalId;
    this.#transactionTimeoutMs = transactionTimeoutMs;
  }

  /** The identity under which the next transaction is written. */
  get epoch(): ProducerEpoch {
    const { producerId, producerEpoch } = this.#begun.transaction;
    return { producerId, producerEpoch };
  }

  /** The sequence number of the next record in a partition, from 0. */
  sequence(topicPartition: TopicPartition): number {
    return this.#sequences.get(partitionKey(topicPartition)) ?? 0;
  }

  /** Begins a transaction that writes to these partitions. Only protocol 1 sends a request for this. */
  async begin(topicPartitions: readonly TopicPartition[]): Promise<void> {
    const { transaction, protocol } = this.#begun;
    if (protocol === 1) await this.#cluster.ask(addPartitionsToTxn, { ...transaction, topicPartitions });
  }

  /**
   * Sends one batch to each of these distinct partitions, with one request to each leader. If a broker doesn't lead a partition, or doesn't
   * know it yet, the same batch goes to the leader in fresh metadata, under the same number: a leader that already has it acknowledges it.
   * Resolves to the offset of each batch's first record, by `partitionKey`.
   */
  async produce(batches: readonly PartitionBatch[]): Promise<ReadonlyMap<string, number>> {
    const { transaction, protocol } = this.#begun;
    const { transactionalId, ...producer } = transaction;
    const topicPartitions = batches.map(({ topic, partition, batch }) => {
      const baseSequence = this.sequence({ topic, partition });
      return { topic, partition, batch: batchPieces(batch, { ...producer, baseSequence }) };
    });
    const offsets = await this.#cluster.ask(produce[protocol], { transactionalId, topicPartitions });
    for (const { batch, ...place } of batches) this.#sequences.set(partitionKey(place), (this.sequence(place) + batch.count) % SEQUENCES);
    return offsets;
  }

  /** Adds offsets of groups to the transaction in progress. */
  async sendOffsets(offsets: readonly OffsetCommit[]): Promise<void> {
    const { transaction, protocol } = this.#begun;
    for (const [groupId, commits] of Map.groupBy(offsets, ({ group }) => group)) {
      if (protocol === 1) await this.#cluster.ask(addOffsetsToTxn, { ...transaction, groupId });
      // If a transaction commits several offsets of a partition, only the last one is sent.
      const last = new Map(commits.map((commit) => [partitionKey(commit), commit]));
      const topicPartitions = Array.from(last.values(), ({ topic, partition, nextOffset }) => ({ topic, partition, offset: nextOffset }));
      await this.#cluster.ask(txnOffsetCommit[protocol], { ...transaction, groupId, topicPartitions });
    }
  }

  async commit(): Promise<void> {
    const { transaction, protocol } = this.#begun;
    const next = await this.#cluster.ask(endTxn[protocol], { ...transaction, transactionResult: true });
    // In a new epoch, the sequence numbers of each partition start at 0 again.
    if (protocol === 2) this.#sequences.clear();
    this.#fenced = { transaction: { ...transaction, ...next }, protocol };
  }

  /**
   * Makes the coordinator write an end marker to each of these partitions and groups, with an otherwise empty transaction. It uses the requests
   * of protocol 1, which keep the epoch.
   */
  async endAgain(touched: Touched, transactionResult: boolean): Promise<void> {
    if (!isAnywhere(touched)) return;
    const { topicPartitions, offsets } = touched;
    const { transaction } = this.#begun;
    await Promise.all([
      topicPartitions.length > 0 && this.#cluster.ask(addPartitionsToTxn, { ...transaction, topicPartitions }),
      ...Array.from(new Set(offsets.map(({ group }) => group)), (groupId) =>
        this.#cluster.ask(addOffsetsToTxn, { ...transaction, groupId }),
      ),
    ]);
    await this.#cluster.ask(endTxn[1], { ...transaction, transactionResult });
  }

  get #begun(): Fenced {
    if (this.#fenced === undefined) throw new TypeError('Call fence before anything else.');
    return this.#fenced;
  }

  /** Connects to the coordinator, which `fence` needs. */
  async connect(): Promise<void> {
    await this.#cluster.connect(this.#transactionalId);
  }

  /** Fences every older producer of the transactional ID, and makes the coordinator abort the transaction that it knows as open. */
  async fence(): Promise<void> {
    const transactionalId = this.#transactionalId;
    const [producer, protocol] = await Promise.all([
      this.#cluster.ask(initProducerId, { transactionalId, transactionTimeout: this.#transactionTimeoutMs }),
      this.#cluster.ask(transactionProtocol, { transactionalId }),
    ]);
    this.#fenced = { transaction: { transactionalId, ...producer }, protocol };
  }
}
