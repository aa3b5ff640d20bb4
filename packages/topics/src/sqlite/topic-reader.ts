import { type FieldsOf, PullReader } from '../pull-reader.ts';
import { wrongStart } from '../read-start.ts';
import { TopicLogError } from '../topic-log-error.ts';
import type { OffsetCommit, ReadOptions, TopicRecord } from '../topic-log.ts';
import { assertOffset } from './argument-checks.ts';
import type { CommitWatch } from './commit-watch.ts';
import { parsedHeaders } from './headers-json.ts';
import { isSeriesValues, unpacked } from './series-values.ts';
import type { WorkerLink } from './worker-link.ts';
import type { Cursor, ReadScope, RecordChunk } from './worker-protocol.ts';

/** Reads records in chunks that it requests from the worker one at a time, so that it doesn't get far ahead of its consumer. */
export class SqliteTopicReader<Field extends string | Uint8Array> extends PullReader<Field> {
  readonly #link: WorkerLink;
  readonly #commits: CommitWatch;
  readonly #fieldsOf: FieldsOf<Field>;
  readonly #onClose: (reader: SqliteTopicReader<Field>) => void;
  readonly #scope: ReadScope;
  readonly #follow: boolean;
  /** The places by partition, in the order in which the partitions have their turn. */
  readonly #cursors: Promise<Map<number, Cursor>>;
  readonly #closing = new AbortController();
  #records: Iterator<TopicRecord<string | Uint8Array>> = [].values();

  constructor(
    link: WorkerLink,
    commits: CommitWatch,
    read: ReadOptions,
    fieldsOf: FieldsOf<Field>,
    onClose: (reader: SqliteTopicReader<Field>) => void,
  ) {
    super(read);
    this.#link = link;
    this.#commits = commits;
    this.#fieldsOf = fieldsOf;
    this.#onClose = onClose;
    this.#scope = { topic: read.topic, partitions: read.partitions, group: read.group };
    this.#follow = read.follow ?? false;
    const { from = 'earliest' } = read;
    this.#cursors = this.#start(from);
    // The first call of `next` throws the error. If there is no such call, the error must not become an unhandled rejection.
    this.#cursors.catch(() => {});
    this.closeOnAbort();
  }

  protected override async commitOffset(offset: OffsetCommit): Promise<void> {
    assertOffset(offset);
    await this.#link.call('commitRead', offset);
  }

  protected override end(): Promise<void> {
    this.#records = [].values();
    this.#closing.abort();
    this.#onClose(this);
    return Promise.resolve();
  }

  protected override async nextResult(): Promise<IteratorResult<TopicRecord<Field>, undefined>> {
    while (!this.isClosed) {
      try {
        const record = this.#records.next();
        if (record.done !== true) return { done: false, value: this.#fieldsOf(record.value) };
        const chunk = await this.#unlessClosed(this.#nextChunk());
        if (chunk === null) await this.close();
        else this.#records = recordsOf(this.#scope.topic, chunk);
      } catch (error) {
        const ended = this.isClosed && error instanceof TopicLogError && error.code === 'HEADGATE_TOPIC_LOG_CLOSED';
        await this.close();
        if (ended) break;
        throw error;
      }
    }
    return { done: true, value: undefined };
  }

  async #start(from: NonNullable<ReadOptions['from']>): Promise<Map<number, Cursor>> {
    const wrong = wrongStart(from, this.#scope.partitions ?? []);
    if (wrong !== undefined) throw new RangeError(wrong);
    const cursors = await this.#link.call('startReading', this.#scope, from);
    return new Map(cursors.map((cursor) => [cursor.partition, cursor]));
  }

  /** Resolves to null at the end of the topic. A reader that follows waits there for further records. */
  async #nextChunk(): Promise<RecordChunk | null> {
    const cursors = await this.#cursors;
    for (;;) {
      const seen = this.#commits.count(this.#scope.topic);
      const chunk = await this.#link.call('nextChunk', this.#scope, [...cursors.values()], this.#follow);
      if (chunk !== null) {
        const { partition, next } = chunk;
        const end = cursors.get(partition)?.end ?? next;
        // The partition moves to the end of the map, so that its backlog doesn't hold up the others.
        cursors.delete(partition);
        cursors.set(partition, { partition, next, end });
        return chunk;
      }
      if (!this.#follow || this.isClosed) return null;
      await this.#commits.after(seen, this.#scope.topic, this.#closing.signal);
    }
  }

  /** Resolves to null as soon as the reader is closed. `Promise.race` with one promise for all chunks would keep every chunk in memory. */
  #unlessClosed(chunk: Promise<RecordChunk | null>): Promise<RecordChunk | null> {
    return new Promise((resolve, reject) => {
      const stop = (): void => resolve(null);
      this.#closing.signal.addEventListener('abort', stop);
      void chunk.then(resolve, reject).finally(() => this.#closing.signal.removeEventListener('abort', stop));
    });
  }
}

function* recordsOf(topic: string, chunk: RecordChunk): Generator<TopicRecord<string | Uint8Array>> {
  const { partition, from } = chunk;
  for (const [entry, first] of chunk.offsets.entries()) {
    const key = chunk.keys[entry] ?? null;
    const stored = chunk.values[entry] ?? null;
    const headers = parsedHeaders(chunk.headers[entry] ?? null);
    const timestampMs = chunk.timestampsMs[entry] ?? 0;
    const values = isSeriesValues(stored) ? unpacked(stored) : [stored];
    for (let index = Math.max(0, from - first); index < values.length; index++) {
      yield { topic, partition, offset: first + index, key, value: values[index] ?? null, headers, timestampMs };
    }
  }
}
