import { setTimeout as sleep } from 'node:timers/promises';
import { type FieldsOf, PullReader } from '../../pull-reader.ts';
import { startOf, wrongStart } from '../../read-start.ts';
import { TopicLostError } from '../../topic-errors.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { OffsetCommit, ReadOptions, TopicRecord } from '../../topic-log.ts';
import { commitGroupOffset, groupOffsets } from './group-offsets.ts';
import type { Cluster } from '../client/cluster.ts';
import type { Client } from '../client/client.ts';
import { fetchRecords, isOutOfRange, nextMaxBytes, partitionOffsets } from './fetch.ts';
import type { TopicDirectory } from '../topics/topic-directory.ts';

/** How long a broker waits for new records before it responds without any. */
const LONG_POLL_MS = 1_000;
/** Pause before a reader of several partitions checks them again after finding nothing new. */
const NEWS_CHECK_MS = 500;
/** Minimum interval at which a following reader of all partitions checks for new ones. */
const PARTITIONS_CHECK_MS = 3_000;
/** Number of responses, each after a refresh of the metadata, before a reader believes that a partition has become shorter. */
const LOSS_CHECKS = 4;
const LOSS_CHECK_PAUSE_MS = 250;

export interface KafkaTopicReaderOptions<Field extends string | Uint8Array> {
  readonly client: Client;
  /** Commits offsets, even after the reader has ended. */
  readonly committer: Client;
  readonly directory: TopicDirectory;
  readonly read: ReadOptions;
  readonly fieldsOf: FieldsOf<Field>;
  /** By `partitionKey`, the highest end that the log's readers have seen. */
  readonly ends: Map<string, number>;
  /** Resolves when the transactions that this log has committed can be read. */
  readonly settled: () => Promise<void>;
  readonly onClose: (reader: KafkaTopicReader<Field>) => void;
}

interface Position {
  readonly partition: number;
  next: number;
  /** The offset up to which records are known to be readable. A reader that doesn't follow ends here. */
  end: number;
}

/** One pass over the records: fetches on demand, takes the partitions in turn, and keeps at most one response in memory. */
export class KafkaTopicReader<Field extends string | Uint8Array> extends PullReader<Field> {
  readonly #options: KafkaTopicReaderOptions<Field>;
  readonly #over = new AbortController();
  readonly #opened: Promise<Position[]>;
  #partitionsCheckedMs = performance.now();
  #maxBytes = nextMaxBytes();
  #chunk: readonly TopicRecord<Uint8Array>[] = [];
  #at = 0;

  constructor(options: KafkaTopicReaderOptions<Field>) {
    super(options.read);
    this.#options = options;
    this.closeOnAbort();
    this.#opened = this.#run((cluster) => this.#open(cluster));
    // The first call of `next` throws the error. If there is no such call, the error must not become an unhandled rejection.
    this.#opened.catch(() => {});
  }

  /** Resolves when the reader knows where it starts, or can't start. */
  async begun(): Promise<void> {
    await this.#opened.catch(() => undefined);
  }

  protected override async commitOffset(offset: OffsetCommit): Promise<void> {
    await this.#options.committer.run((cluster) => commitGroupOffset(cluster, offset));
  }

  protected override async end(): Promise<void> {
    this.#chunk = [];
    this.#over.abort();
    this.#options.onClose(this);
    await Promise.resolve();
  }

  #run<T>(work: (cluster: Cluster) => Promise<T>): Promise<T> {
    return this.#options.client.run(work, this.#over.signal);
  }

  async #open(cluster: Cluster): Promise<Position[]> {
    const { topic, partitions, from = 'earliest' } = this.#options.read;
    const wrong = wrongStart(from, partitions ?? []);
    if (wrong !== undefined) throw new RangeError(wrong);
    const wanted = partitions ?? (await this.#options.directory.partitions(topic));
    await this.#options.settled();
    return await this.#positions(cluster, wanted, from);
  }

  async #positions(cluster: Cluster, wanted: readonly number[], from: NonNullable<ReadOptions['from']>): Promise<Position[]> {
    const { read, ends } = this.#options;
    const { topic, group } = read;
    const [earliest, stable] = await Promise.all([
      // A numeric `from` needs no earliest offset: `#advance` skips the records that retention has deleted.
      typeof from === 'number' ? new Map<number, number>() : partitionOffsets(cluster, topic, wanted, 'earliest'),
      partitionOffsets(cluster, topic, wanted, 'stable'),
    ]);
    const committed = group === undefined ? undefined : await groupOffsets(cluster, { group, topic, partitions: wanted });
    const positions = wanted.map((partition) => {
      const first = earliest.get(partition) ?? 0;
      const end = stable.get(partition) ?? 0;
      const start = startOf(from, { partition, earliest: first, end });
      const resume = committed?.get(partition);
      const next = Math.max(first, resume ?? start);
      const key = partitionKey({ topic, partition });
      const seen = ends.get(key) ?? 0;
      ends.set(key, Math.max(end, seen));
      // If the partition ends below `had`, it has lost records. A start above the highest end that this log has seen proves no loss, because a caller
      // can wait for records that don't exist yet.
      return { partition, next, end, had: resume ?? Math.min(next, seen) };
    });
    for (const { partition, end, had } of positions) if (had > end) await this.#assertReaches(cluster, partition, had);
    return positions;
  }

  protected override async nextResult(): Promise<IteratorResult<TopicRecord<Field>, undefined>> {
    try {
      while (!this.isClosed) {
        const record = this.#chunk[this.#at];
        this.#at += 1;
        if (record !== undefined) return { done: false, value: this.#options.fieldsOf(record) };
        const chunk = await this.#fetch(await this.#opened);
        if (chunk === undefined) break;
        this.#chunk = chunk;
        this.#at = 0;
      }
    } catch (error) {
      if (!this.isClosed) {
        await this.close();
        throw error;
      }
    }
    await this.close();
    return { done: true, value: undefined };
  }

  /** The next records of any partition; undefined at the end. `positions` is in the order of the partitions' turns. */
  async #fetch(positions: Position[]): Promise<readonly TopicRecord<Uint8Array>[] | undefined> {
    const { follow = false } = this.#options.read;
    for (;;) {
      if (follow) await this.#addPartitions(positions);
      const [only] = positions;
      const isCaughtUp = positions.length === 1 && only !== undefined && only.next === only.end;
      const at = positions.findIndex(({ next, end }) => next < end);
      const ready = positions[at] ?? (follow && isCaughtUp ? only : undefined);
      if (ready !== undefined) {
        // The partitions before `at` had no new records at their last check, which can be long ago if the others are busy.
        if (follow && at > 0 && (await this.#fetchEnds(positions.slice(0, at)))) continue;
        positions.push(...positions.splice(0, at + 1));
        const records = await this.#advance(ready);
        if (records.length > 0) return records;
      } else if (!follow) return undefined;
      else if (!(await this.#fetchEnds(positions))) await sleep(NEWS_CHECK_MS, undefined, { signal: this.#over.signal });
    }
  }

  /** Fetches existing records. If there are none, the broker waits up to `LONG_POLL_MS` for new ones. */
  async #advance(position: Position): Promise<readonly TopicRecord<Uint8Array>[]> {
    const { topic, follow = false } = this.#options.read;
    const { partition, next: offset, end } = position;
    return await this.#run(async (cluster) => {
      try {
        const maxBytes = this.#maxBytes;
        const { records, next, lastStable } = await fetchRecords(cluster, {
          topic,
          partition,
          offset,
          maxWaitMs: follow ? LONG_POLL_MS : 0,
          maxBytes,
        });
        this.#maxBytes = nextMaxBytes({ maxBytes, records: records.length });
        // Check before returning records: they may come from a recreated topic.
        if (lastStable < end) await this.#assertReaches(cluster, partition, end);
        position.next = next;
        if (!follow) return records.filter((record) => record.offset < end);
        position.end = Math.max(end, lastStable);
        return records;
      } catch (error) {
        if (!isOutOfRange(error)) throw error;
        const earliest = (await partitionOffsets(cluster, topic, [partition], 'earliest')).get(partition) ?? 0;
        if (earliest <= offset) {
          await this.#assertReaches(cluster, partition, end);
          throw error;
        }
        // Retention deleted the records that come next.
        position.next = earliest;
        position.end = Math.max(end, earliest);
        return [];
      }
    });
  }

  /**
   * Fetches the end offsets of several partitions in one request, because a broker answers the requests of a connection one by one.
   * Resolves to true when any partition has new records.
   */
  async #fetchEnds(positions: readonly Position[]): Promise<boolean> {
    const { topic } = this.#options.read;
    const partitions = positions.map(({ partition }) => partition);
    await this.#run(async (cluster) => {
      const ends = await partitionOffsets(cluster, topic, partitions, 'stable');
      for (const position of positions) {
        const end = ends.get(position.partition) ?? position.end;
        if (end < position.end) await this.#assertReaches(cluster, position.partition, position.end);
        position.end = Math.max(end, position.end);
      }
    });
    return positions.some(({ next, end }) => next < end);
  }

  async #addPartitions(positions: Position[]): Promise<void> {
    const { topic, partitions } = this.#options.read;
    if (partitions !== undefined || performance.now() - this.#partitionsCheckedMs < PARTITIONS_CHECK_MS) return;
    await this.#run(async (cluster) => {
      const known = new Set(positions.map(({ partition }) => partition));
      const added = (await this.#options.directory.partitions(topic)).filter((partition) => !known.has(partition));
      if (added.length === 0) return;
      cluster.forget();
      positions.unshift(...(await this.#positions(cluster, added, 'earliest')));
    });
    this.#partitionsCheckedMs = performance.now();
  }

  /** Throws `TopicLostError` if a partition ends below an offset that the reader had reached: its topic was recreated, or lost its end. */
  async #assertReaches(cluster: Cluster, partition: number, reached: number): Promise<void> {
    const { topic } = this.#options.read;
    let end = 0;
    for (let check = 0; check < LOSS_CHECKS; check += 1) {
      if (check > 0) await sleep(LOSS_CHECK_PAUSE_MS, undefined, { signal: this.#over.signal });
      cluster.forget();
      end = (await partitionOffsets(cluster, topic, [partition], 'stable')).get(partition) ?? 0;
      if (end >= reached) return;
    }
    throw new TopicLostError(
      { topic },
      { cause: new Error(`The reader reached offset ${reached} of partition ${partition}, but the partition now ends at ${end}.`) },
    );
  }
}
