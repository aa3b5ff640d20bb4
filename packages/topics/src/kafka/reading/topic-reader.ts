import { setTimeout as sleep } from 'node:timers/promises';
import { PullReader } from '../../pull-reader.ts';
import { TopicLogClosedError } from '../../topic-log-errors.ts';
import type { ReadOptions, TopicRecord } from '../../topic-log.ts';
import type { OffsetCommit } from '../../transaction-content.ts';
import type { BarrenStretches } from './barren-stretches.ts';
import { commitGroupOffset, groupOffsets } from './group-offsets.ts';
import type { InnerCluster } from '../inner-cluster.ts';
import type { Link } from '../connection/link.ts';
import type { OwnWrites } from './own-writes.ts';
import { assertPartitions, fetchRecords, isOutOfRange, partitionOffsets, partitionsOf } from './partition-log.ts';

/** A broker holds a question for news this long. It is also how long a connection takes to close. */
const LONG_POLL_MS = 250;

export interface KafkaTopicReaderOptions {
  readonly link: Link<InnerCluster>;
  readonly read: ReadOptions;
  readonly ownWrites: OwnWrites;
  readonly barren: BarrenStretches;
  readonly onClose: (reader: KafkaTopicReader) => void;
}

interface Position {
  readonly partition: number;
  next: number;
  /** Where a reader that doesn't follow ends. */
  end: number;
}

/** One pass over the records: fetches when asked, one partition after the other, and never more than one answer ahead. */
export class KafkaTopicReader extends PullReader {
  readonly #options: KafkaTopicReaderOptions;
  readonly #over = new AbortController();
  readonly #opened: Promise<Position[]>;
  #chunk: readonly TopicRecord[] = [];
  #at = 0;

  constructor(options: KafkaTopicReaderOptions) {
    super(options.read);
    this.#options = options;
    this.closeOnAbort();
    this.#opened = this.#run((cluster) => this.#open(cluster));
    // Told by the first `next`; a reader nobody reads is no unhandled rejection.
    this.#opened.catch(() => {});
  }

  protected override async commitOffset(offset: OffsetCommit): Promise<void> {
    await this.#options.link.run((cluster) => commitGroupOffset(cluster, offset));
  }

  protected override async end(): Promise<void> {
    this.#chunk = [];
    this.#over.abort();
    this.#options.onClose(this);
    await Promise.resolve();
  }

  #run<T>(work: (cluster: InnerCluster) => Promise<T>): Promise<T> {
    return this.#options.link.run(work, this.#over.signal);
  }

  async #open(cluster: InnerCluster): Promise<Position[]> {
    const { topic, partitions, group, from = 'earliest' } = this.#options.read;
    const wanted = partitions ?? (await partitionsOf(cluster, topic));
    await assertPartitions(cluster, topic, wanted);
    const { ownWrites, barren } = this.#options;
    const [earliest, stable] = await Promise.all([
      // An offset that retention has taken is noticed when it is fetched.
      typeof from === 'number' ? new Map<number, number>() : partitionOffsets(cluster, topic, wanted, 'earliest'),
      ownWrites.stableOffsets(cluster, topic, wanted),
    ]);
    const committed = group === undefined ? undefined : await groupOffsets(cluster, { group, topic, partitions: wanted });
    return wanted.map((partition) => {
      const first = earliest.get(partition) ?? 0;
      const end = stable.get(partition) ?? 0;
      const start = from === 'earliest' ? first : from === 'latest' ? end : from;
      const own = group === undefined ? undefined : ownWrites.groupOffset(group, topic, partition);
      const goesOn = Math.max(committed?.get(partition) ?? -1, own ?? -1);
      return { partition, next: barren.behind(topic, partition, Math.max(first, goesOn >= 0 ? goesOn : start)), end };
    });
  }

  protected override async nextResult(): Promise<IteratorResult<TopicRecord, undefined>> {
    try {
      while (!this.isClosed) {
        const record = this.#chunk[this.#at];
        this.#at += 1;
        if (record !== undefined) return { done: false, value: record };
        const chunk = await this.#fetch(await this.#opened);
        if (chunk === undefined) break;
        this.#chunk = chunk;
        this.#at = 0;
      }
    } catch (error) {
      if (!this.isClosed) throw await this.#failed(error);
    }
    await this.close();
    return { done: true, value: undefined };
  }

  async #failed(error: unknown): Promise<unknown> {
    await this.close();
    const aborted = error instanceof Error && error.name === 'AbortError';
    return aborted ? new TopicLogClosedError({ what: 'The topic log' }) : error;
  }

  /** The next records of any partition; undefined at the end. */
  async #fetch(positions: readonly Position[]): Promise<readonly TopicRecord[] | undefined> {
    const { follow = false } = this.#options.read;
    for (;;) {
      const [only] = positions;
      const isCaughtUp = positions.length === 1 && only !== undefined && only.next === only.end;
      const ready = positions.find(({ next, end }) => next < end) ?? (follow && isCaughtUp ? only : undefined);
      if (ready !== undefined) {
        const records = await this.#advance(ready);
        if (records.length > 0) return records;
      } else if (follow) await this.#lookForNews(positions);
      else return undefined;
    }
  }

  /** Fetches what is there; where nothing is, the broker waits for news. */
  async #advance(position: Position): Promise<readonly TopicRecord[]> {
    const { topic, follow = false } = this.#options.read;
    const { partition, end } = position;
    return await this.#run(async (cluster) => {
      await partitionsOf(cluster, topic);
      try {
        const maxWaitMs = position.next < end ? 0 : LONG_POLL_MS;
        const { records, next, lastStable } = await fetchRecords(cluster, { topic, partition, offset: position.next, maxWaitMs });
        if (records.length === 0) this.#options.barren.add(topic, partition, position.next, next);
        position.next = next;
        if (!follow) return records.filter(({ offset }) => offset < end);
        position.end = lastStable;
        return records;
      } catch (error) {
        if (!isOutOfRange(error)) throw error;
        await this.#findPlace(cluster, position);
        return [];
      }
    });
  }

  /** A connection answers one question after the other: several partitions are asked for their ends at once. */
  async #lookForNews(positions: readonly Position[]): Promise<void> {
    const { topic } = this.#options.read;
    const partitions = positions.map(({ partition }) => partition);
    const ends = await this.#run(async (cluster) => {
      await partitionsOf(cluster, topic);
      return await partitionOffsets(cluster, topic, partitions, 'stable');
    });
    for (const position of positions) position.end = ends.get(position.partition) ?? position.end;
    if (positions.every(({ next, end }) => next >= end)) await sleep(LONG_POLL_MS, undefined, { signal: this.#over.signal });
  }

  /** Retention has taken what was to be read next: goes on at the first offset kept. */
  async #findPlace(cluster: InnerCluster, position: Position): Promise<void> {
    const { topic } = this.#options.read;
    const { partition } = position;
    const earliest = (await partitionOffsets(cluster, topic, [partition], 'earliest')).get(partition) ?? 0;
    const stable = (await partitionOffsets(cluster, topic, [partition], 'stable')).get(partition) ?? 0;
    position.next = Math.max(position.next, earliest);
    // Of a reader that follows; any other has an end of its own, which retention can only have passed.
    position.end = this.#options.read.follow === true ? stable : Math.max(position.end, position.next);
  }
}
