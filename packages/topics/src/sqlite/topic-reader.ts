import { type FieldsOf, PullReader } from '../pull-reader.ts';
import { TopicLogError } from '../topic-log-error.ts';
import type { OffsetCommit, ReadOptions, TopicRecord } from '../topic-log.ts';
import { parsedHeaders } from './headers-json.ts';
import { isSeriesValues, unpacked } from './series-values.ts';
import type { WorkerLink } from './worker-link.ts';
import type { RecordChunk } from './worker-protocol.ts';

export interface SqliteTopicReaderOptions<Field extends string | Uint8Array> {
  readonly link: WorkerLink;
  readonly reader: number;
  readonly read: ReadOptions;
  readonly fieldsOf: FieldsOf<Field>;
  readonly onClose: (reader: SqliteTopicReader<Field>) => void;
}

/** Reads records in chunks that it requests from the worker one at a time. */
export class SqliteTopicReader<Field extends string | Uint8Array> extends PullReader<Field> {
  readonly #options: SqliteTopicReaderOptions<Field>;
  readonly #opened: Promise<unknown>;
  /** Makes a pending `#nextChunk` resolve to null. */
  #stopWaiting: () => void = () => {};
  #records: Iterator<TopicRecord<string | Uint8Array>> = [].values();

  constructor(options: SqliteTopicReaderOptions<Field>) {
    const { link, reader, read } = options;
    super(read);
    this.#options = options;
    const { topic, partitions = null, group = null, from = 'earliest', follow = false } = read;
    this.#opened = link.call('open-reader', { reader, topic, partitions, group, from, follow });
    // The first call of `next` throws the error. If there is no such call, the error must not become an unhandled rejection.
    this.#opened.catch(() => {});
    this.closeOnAbort();
  }

  protected override async commitOffset(offset: OffsetCommit): Promise<void> {
    await this.#options.link.call('commit-read', offset);
  }

  protected override async end(): Promise<void> {
    const { link, reader, onClose } = this.#options;
    this.#records = [].values();
    this.#stopWaiting();
    onClose(this);
    try {
      await link.call('close-reader', { reader });
    } catch {
      // If the log is closed or its thread has ended, the thread's reader has ended with it.
    }
  }

  protected override async nextResult(): Promise<IteratorResult<TopicRecord<Field>, undefined>> {
    while (!this.isClosed) {
      try {
        const record = this.#records.next();
        if (record.done !== true) return { done: false, value: this.#options.fieldsOf(record.value) };
        await this.#opened;
        const chunk = await this.#nextChunk();
        if (chunk === null) await this.close();
        else this.#records = recordsOf(this.#options.read.topic, chunk);
      } catch (error) {
        const ended = this.isClosed && error instanceof TopicLogError && error.code === 'HEADGATE_TOPIC_LOG_CLOSED';
        await this.close();
        if (ended) break;
        throw error;
      }
    }
    return { done: true, value: undefined };
  }

  /**
   * Resolves to null at the end of the topic, and when the reader is closed during the wait. `Promise.race` with one promise for all chunks would
   * keep every chunk in memory.
   */
  #nextChunk(): Promise<RecordChunk | null> {
    const { link, reader } = this.#options;
    return new Promise((resolve, reject) => {
      this.#stopWaiting = () => resolve(null);
      link.call('next-chunk', { reader }).then(resolve, reject);
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
