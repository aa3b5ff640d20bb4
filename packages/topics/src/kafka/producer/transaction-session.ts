import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff } from '../../backoff.ts';
import { textOf } from '../../record-fields.ts';
import { TopicLostError } from '../../topic-errors.ts';
import type { NewRecord, OffsetCommit, TopicPartition, TopicRecord } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { TransactionContent } from '../../transaction-content.ts';
import type { Cluster } from '../client/cluster.ts';
import { unknownTopicError } from '../client/answered-error.ts';
import { certainTopicMetadata, partitionCount } from '../topics/topic-metadata.ts';
import { committedOffsets } from '../reader/group-offsets.ts';
import { type WhichOffset, listOffsets } from '../requests/offsets.ts';
import { describeProducers } from '../requests/transactions.ts';
import { type TransactionNote, findTransaction, placeOf } from './find-transaction.ts';
import { type RecordSender, type RecordsByPartition, type SentBatch, type SentRecords, byPartition } from './record-sender.ts';
import { type Find, type NotedTransaction, type Step, type TransactionId, begin, settle, write } from './transaction-law.ts';
import { type Places, type Touched, type TransactionalProducer, isAnywhere } from './transactional-producer.ts';

/** A transaction with the note that lets a later session find its records. */
export interface Noted extends NotedTransaction {
  readonly note: TransactionNote;
  /** Offsets of the transaction's records, by `partitionKey`. Partitions whose offsets aren't known yet are missing. */
  readonly placed: SentRecords;
}

export interface TransactionSessionOptions {
  readonly producer: TransactionalProducer;
  readonly cluster: Cluster;
  readonly sender: RecordSender;
  /**
   * By `partitionKey`, the end of what a lane has written, over all of its sessions. Default: it isn't kept. Only a lane must notice a recreated
   * topic, because its state still describes the old one.
   */
  readonly written?: Map<string, number> | undefined;
  /**
   * All partitions and group offsets that this session writes, or in which an earlier session may have left a transaction open. Their
   * topics may have been deleted.
   */
  readonly places: Places;
  /** Reads the transactions that earlier sessions noted. */
  readonly noted: () => Promise<readonly Noted[]>;
  /** Partition and key of the record in which each transaction stores its note. Default: notes stay in memory only. */
  readonly notes?: (TopicPartition & { readonly key: string }) | undefined;
  readonly signal: AbortSignal;
}

/** Pauses between two polls of whether a transaction has ended in its partitions. */
const POLLS = { firstMs: 4, mostMs: 50 };
/** Pause before the first poll. The coordinator responds before it writes the end markers, so an immediate poll would usually find none. */
const FIRST_POLL_AFTER_MS = 2;
/** How long a session waits for end markers before it ends the transaction again. Doubles from `firstMs` up to `mostMs`. */
const ENDS_WITHIN = { firstMs: 400, mostMs: 5_000 };

/** One producer of a transactional ID, from its fence to its first error. It takes the steps of `transaction-law.ts`. */
export class TransactionSession {
  readonly #options: TransactionSessionOptions;
  /** By `partitionKey`, an offset that is after all records of this transactional ID. */
  readonly #ends = new Map<string, number>();
  #unended: Touched = { topicPartitions: [], offsets: [] };
  /** The `partitionKey`s of partitions that didn't exist when this session began, so no transaction is open in them. */
  #deleted: ReadonlySet<string> = new Set();
  #endedMs = 0;
  #endsWithinMs = ENDS_WITHIN.firstMs;
  #newest: Noted | undefined;
  #hasFailed = false;

  constructor(options: TransactionSessionOptions) {
    this.#options = options;
  }

  /** The newest transaction that was found or written. */
  get newest(): Noted | undefined {
    return this.#newest;
  }

  /** Connects to the brokers. Call it before `begin`, beside other work. */
  async connect(): Promise<void> {
    await this.#options.producer.connect();
  }

  /** Fences older sessions, and continues from what they have left in the log. */
  async begin(barrier?: readonly NewRecord[]): Promise<void> {
    await this.#follow(begin(barrier && { records: barrier, offsets: [] }));
  }

  /**
   * Writes `content` all or nothing. Does nothing if `begin` found the transaction `id` in the log. After an error the outcome is unknown
   * until the next session's `begin`.
   */
  async write(content: TransactionContent, id?: TransactionId): Promise<void> {
    const newest = this.#newest?.id;
    const isFound = id !== undefined && newest?.incarnation === id.incarnation && newest.number === id.number;
    await this.#follow(isFound ? [] : write(content, id));
  }

  /** Resolves when the last transaction has ended in all its partitions. */
  async settle(): Promise<void> {
    await this.#follow(settle(true));
  }

  /** Closes the session's connections at once. */
  close(): void {
    this.#options.cluster.close();
  }

  async #follow(law: Iterable<Step<TransactionContent, Noted>>): Promise<void> {
    if (this.#hasFailed) throw new TypeError("A session can't be used after an error. Begin a new one.");
    // Stays true if a step throws: a session with some of its steps done must not be used again.
    this.#hasFailed = true;
    for (const step of law) {
      this.#options.signal.throwIfAborted();
      await this.#take(step);
    }
    this.#hasFailed = false;
  }

  async #take(step: Step<TransactionContent, Noted>): Promise<void> {
    const { producer, places, noted } = this.#options;
    switch (step.do) {
      case 'fence':
        await producer.fence();
        this.#unended = await this.#existing(places.all);
        return;
      case 'end':
        if (step.again) await this.#endAgain(step.commit);
        else await producer.commit();
        this.#endedMs = performance.now();
        return;
      case 'poll':
        step.isEnded = await this.#isEnded();
        return;
      case 'write':
        await this.#write(step.content, step.id);
        return;
      case 'read':
        step.transactions = await noted();
        return;
      case 'find':
        await this.#find(step);
        return;
    }
    step satisfies never;
  }

  async #existing({ topicPartitions, offsets }: Touched): Promise<Touched> {
    // A partition that was deleted since the last look at the metadata fails a request, after which it isn't known any more.
    const places = [...topicPartitions, ...offsets].filter((place) => !this.#options.cluster.knows(place));
    const wanted = new Map<string, number>();
    for (const { topic, partition } of places) wanted.set(topic, Math.max(partition + 1, wanted.get(topic) ?? 0));
    const found = await certainTopicMetadata(this.#options.cluster, wanted);
    this.#deleted = new Set(places.filter(({ topic, partition }) => partition >= partitionCount(found.get(topic))).map(partitionKey));
    // Group offsets can outlive their topic, because brokers store them in an internal topic. A transaction may still be open there.
    return { topicPartitions: topicPartitions.filter(this.#exists), offsets };
  }

  readonly #exists = (place: TopicPartition): boolean => !this.#deleted.has(partitionKey(place));

  async #endAgain(commit: boolean): Promise<void> {
    await this.#options.producer.endAgain(this.#unended, commit);
    // Records that this session doesn't know of may have been appended before this end.
    for (const place of this.#unended.topicPartitions) this.#ends.delete(partitionKey(place));
  }

  /** Fetches the current end offset of each partition whose end isn't known: all records appended so far are below it. */
  async #knowEnds(topicPartitions: readonly TopicPartition[]): Promise<void> {
    const unknown = topicPartitions.filter((place) => !this.#ends.has(partitionKey(place)));
    if (unknown.length === 0) return;
    for (const [key, end] of await this.#offsets(unknown, 'replicated')) this.#ends.set(key, end);
  }

  async #offsets(topicPartitions: readonly TopicPartition[], which: WhichOffset): Promise<ReadonlyMap<string, number>> {
    const { cluster, signal } = this.#options;
    return await cluster.ask(listOffsets, { topicPartitions, which }, { signal });
  }

  async #isEnded(): Promise<boolean> {
    const { producer, cluster, signal } = this.#options;
    const deadline = performance.now() + this.#endsWithinMs;
    const earlyMs = this.#endedMs + FIRST_POLL_AFTER_MS - performance.now();
    if (earlyMs > 0 && isAnywhere(this.#unended)) await sleep(earlyMs, undefined, { signal });
    for (const backoff = new Backoff(POLLS); isAnywhere(this.#unended); await backoff.pause(signal)) {
      const { topicPartitions, offsets } = this.#unended;
      // Whichever is asked first: a stable offset at or after an end shows that nothing below that end is open.
      const [stable, committed] = await Promise.all([
        this.#offsets(topicPartitions, 'stable'),
        committedOffsets(cluster, offsets, true),
        this.#knowEnds(topicPartitions),
      ]);
      const open = topicPartitions.filter((place) => (stable.get(partitionKey(place)) ?? 0) < (this.#ends.get(partitionKey(place)) ?? 0));
      this.#unended = { topicPartitions: open, offsets: offsets.filter((place) => committed.get(place)?.isPending) };
      if (performance.now() >= deadline) break;
    }
    // An older transaction of another client may be open in these partitions, so ask the brokers whether the transaction of this producer has ended.
    const { topicPartitions, offsets } = this.#unended;
    const ours = await cluster.ask(describeProducers, { topicPartitions, producerId: producer.epoch.producerId });
    this.#unended = { topicPartitions: topicPartitions.filter((place) => ours.get(partitionKey(place))), offsets };
    const isEnded = !isAnywhere(this.#unended);
    this.#endsWithinMs = isEnded ? ENDS_WITHIN.firstMs : Math.min(2 * this.#endsWithinMs, ENDS_WITHIN.mostMs);
    return isEnded;
  }

  async #write({ records, offsets }: TransactionContent, id: TransactionId | undefined): Promise<void> {
    const { producer, sender, notes, places } = this.#options;
    const noteRecord = id && notes && { ...notes, value: '' };
    const partitions = byPartition(noteRecord === undefined ? records : [...records, noteRecord]);
    const topicPartitions = Array.from(partitions.values(), ({ topic, partition }) => ({ topic, partition }));
    const noted = id && (await this.#noted(id, partitions, offsets));
    if (noted !== undefined) {
      this.#newest = noted;
      if (noteRecord !== undefined) noteRecord.value = JSON.stringify(noted.note);
    }
    // A partition that was missing when this session began may exist now, with an open transaction that only a new session can end.
    const reappeared = topicPartitions.find((place) => !this.#exists(place));
    if (reappeared !== undefined) throw unknownTopicError(reappeared.topic, reappeared.partition);
    places.add({ topicPartitions, offsets });
    await producer.begin(topicPartitions);
    // Send the offsets before the records, because a later session treats a transaction as written if it finds all of its records.
    await producer.sendOffsets(offsets);
    const sent = await sender.write(producer, partitions);
    for (const place of topicPartitions) {
      const batches = sent.get(partitionKey(place));
      if (batches !== undefined) this.#noteEnd(place, batches);
    }
    if (noted !== undefined) this.#newest = whole(noted, sent);
    this.#unended = { topicPartitions, offsets };
  }

  /**
   * Notes the end of what was appended to a partition. Throws a `TopicLostError`, also at later calls, if a broker has appended below the end of what
   * the lane or this transaction had written: the topic was recreated.
   */
  #noteEnd({ topic, partition }: TopicPartition, batches: readonly SentBatch[]): void {
    const { written } = this.#options;
    const key = partitionKey({ topic, partition });
    let end = written?.get(key) ?? 0;
    for (const { first, count } of batches) {
      if (first < end) {
        // The topic grows with each attempt, but stays lost.
        written?.set(key, Infinity);
        throw new TopicLostError({ topic });
      }
      end = first + count;
    }
    this.#ends.set(key, end);
    written?.set(key, end);
  }

  async #noted(id: TransactionId, partitions: RecordsByPartition, offsets: readonly OffsetCommit[]): Promise<Noted> {
    const { producer } = this.#options;
    const places = [...partitions.values()];
    await this.#knowEnds(places);
    const parts = places.map(({ topic, partition, runs }) => {
      const place = { topic, partition };
      const count = runs.reduce((sum, { length }) => sum + length, 0);
      return { ...place, count, from: this.#ends.get(partitionKey(place)) ?? 0, sequence: producer.sequence(place) };
    });
    // When the lost part of a transaction is written again, its other records stay where they were found.
    const placed = id === this.#newest?.id ? this.#newest.placed : new Map<string, never>();
    return { id, isWhole: false, note: { ...id, ...producer.epoch, parts, offsets }, placed };
  }

  async #find(step: Find<TransactionContent, Noted>): Promise<void> {
    const { cluster, notes } = this.#options;
    const { note } = step.transaction;
    const found = await findTransaction(cluster, { ...note, parts: note.parts.filter(this.#exists) });
    step.isWhole = step.transaction.isWhole || found.every(({ part, records }) => records.length === part.count);
    if (!step.isWhole) return;
    this.#newest = whole(step.transaction, found.filter(({ records }) => records.length > 0).map(placeOf));
    const aborted = found.flatMap(({ isCommitted, records }) => (isCommitted ? [] : records));
    // Writing the transaction again creates a new note, so leave the old one out.
    const isNote = ({ topic, partition, key }: TopicRecord<Uint8Array>): boolean =>
      notes?.topic === topic && notes.partition === partition && key !== null && textOf(key) === notes.key;
    const records = aborted.filter((record) => !isNote(record));
    const committed = await committedOffsets(cluster, note.offsets.filter(this.#exists));
    const offsets = [...committed.keys()].filter((commit) => (committed.get(commit)?.offset ?? -1) < commit.nextOffset);
    if (aborted.length + offsets.length > 0) step.lost = { records, offsets };
  }
}

/** Returns `noted` as a transaction whose records are all in the log, with the offsets in `placed` added. */
function whole(noted: Noted, placed: Iterable<readonly [key: string, batches: readonly SentBatch[]]>): Noted {
  return { ...noted, isWhole: true, placed: new Map([...noted.placed, ...placed]) };
}
