import { startOf, wrongStart } from '../read-start.ts';
import type { LogStore } from './log-store.ts';
import { type StoredPartition, partitionOf } from './topic-table.ts';
import { type ReaderArgs, type RecordChunk, WorkerFailure } from './worker-protocol.ts';

/** Factor by which the pause between polls grows while there are no new records. */
const GROWTH = 1.1;
/** Maximum pause between polls, in multiples of `pollMs`. */
const MOST = 5;

const NOTHING_YET: RecordChunk = { partition: 0, from: 0, next: 0, offsets: [], timestampsMs: [], keys: [], values: [], headers: [] };

interface Cursor {
  next: number;
  /** Offset at which a reader that doesn't follow ends. */
  readonly end: number;
}

interface OpenReader {
  readonly args: ReaderArgs;
  readonly cursors: Map<number, Cursor>;
  /** Resolves the pending `next` of a following reader; null if none is pending. */
  waiting: ((chunk: RecordChunk | null) => void) | null;
}

/** The open readers and their positions. Each call of `next` reads at most one chunk, so that a reader doesn't get far ahead of its consumer. */
export class OpenReaders {
  readonly #store: LogStore;
  readonly #pollMs: number;
  readonly #readers = new Map<number, OpenReader>();
  #poll: NodeJS.Timeout | undefined;
  #pauseMs = 0;
  #seenVersion: unknown;

  constructor(store: LogStore, pollMs: number) {
    this.#store = store;
    this.#pollMs = pollMs;
  }

  open(args: ReaderArgs): void {
    const wrong = wrongStart(args.from, args.partitions ?? []);
    if (wrong !== undefined) throw new WorkerFailure({ kind: 'range', reason: wrong });
    const reader: OpenReader = { args, cursors: new Map(), waiting: null };
    this.#addCursors(reader);
    this.#readers.set(args.reader, reader);
  }

  /** Returns the next chunk, or null at the end of a reader that doesn't follow, and after `close`. A following reader waits. */
  next(id: number): RecordChunk | null | Promise<RecordChunk | null> {
    const reader = this.#readers.get(id);
    if (reader === undefined) return null;
    const chunk = this.#read(reader);
    if (chunk !== null || !reader.args.follow) return chunk;
    return new Promise((resolve) => {
      reader.waiting = resolve;
      this.#watch();
    });
  }

  close(id: number): void {
    this.#readers.get(id)?.waiting?.(null);
    this.#readers.delete(id);
    this.#watch();
  }

  closeAll(): void {
    for (const id of this.#readers.keys()) this.close(id);
  }

  /** Gives new records to the waiting readers. Call after each commit of this process. */
  wake(): void {
    for (const reader of this.#readers.values()) {
      const { waiting } = reader;
      if (waiting === null) continue;
      try {
        const chunk = this.#read(reader);
        if (chunk === null) continue;
        reader.waiting = null;
        waiting(chunk);
      } catch {
        // An empty chunk makes the reader call `next` again, which throws the same error.
        reader.waiting = null;
        waiting(NOTHING_YET);
      }
    }
    this.#watch();
  }

  /** Starts or stops polling for commits of other processes, which is needed only while a reader waits. */
  #watch(): void {
    const wanted = [...this.#readers.values()].some((reader) => reader.waiting !== null);
    if (wanted && this.#poll === undefined) {
      this.#seenVersion = undefined;
      this.#pauseMs = this.#pollMs;
      this.#poll = setTimeout(() => this.#checkForNews(), this.#pauseMs);
    } else if (!wanted && this.#poll !== undefined) {
      clearTimeout(this.#poll);
      this.#poll = undefined;
    }
  }

  #checkForNews(): void {
    const isNew = this.#hasNews();
    this.#pauseMs = isNew ? this.#pollMs : Math.min(GROWTH * this.#pauseMs, MOST * this.#pollMs);
    this.#poll = setTimeout(() => this.#checkForNews(), this.#pauseMs);
    if (isNew) this.wake();
  }

  #hasNews(): boolean {
    try {
      const version = this.#store.dataVersion();
      if (version === this.#seenVersion) return false;
      this.#seenVersion = version;
    } catch {
      // Wake the readers: their next read throws the error.
    }
    return true;
  }

  #read(reader: OpenReader): RecordChunk | null {
    const ends = reader.args.follow ? this.#addCursors(reader) : null;
    for (const [partition, cursor] of reader.cursors) {
      const stored = ends?.find((candidate) => candidate.partition === partition);
      const end = stored?.nextOffset ?? cursor.end;
      if (cursor.next >= end) continue;
      const chunk = this.#store.chunk({ topic: reader.args.topic, partition }, cursor.next, end);
      const found = chunk.offsets.length > 0;
      cursor.next = found ? chunk.next : end;
      if (!found) continue;
      // Move the partition to the end of the map, so that its backlog doesn't hold up the others.
      reader.cursors.delete(partition);
      reader.cursors.set(partition, cursor);
      return chunk;
    }
    return null;
  }

  /**
   * Adds the partitions that the reader doesn't know yet: all of them when it is opened, and later the ones that were added to the topic. Returns
   * the reader's partitions.
   */
  #addCursors(reader: OpenReader): readonly StoredPartition[] {
    const { args, cursors } = reader;
    const topic = this.#store.topic(args.topic);
    const opening = cursors.size === 0;
    const partitions = args.partitions?.map((partition) => partitionOf(topic, partition)) ?? topic.partitions;
    for (const { partition, nextOffset } of partitions) {
      if (cursors.has(partition)) continue;
      const from = startOf(opening ? args.from : 'earliest', { partition, earliest: 0, end: nextOffset });
      const committed = args.group === null ? null : this.#store.groupOffset({ group: args.group, topic: args.topic, partition });
      cursors.set(partition, { next: committed ?? from, end: nextOffset });
    }
    return partitions;
  }
}
