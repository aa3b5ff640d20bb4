import { type FieldsOf, PullReader } from '../pull-reader.ts';
import { TopicLogError } from '../topic-log-error.ts';
import type { OffsetCommit, ReadOptions, TopicRecord } from '../topic-log.ts';
import { parsedHeaders } from './headers-json.ts';
import type { WorkerLink } from './worker-link.ts';
import type { RecordChunk } from './worker-protocol.ts';

export interface SqliteTopicReaderOptions<Field extends string | Uint8Array> {
  readonly link: WorkerLink;
  readonly reader: number;
  readonly read: ReadOptions;
  readonly fieldsOf: FieldsOf<Field>;
  readonly onClose: (reader: SqliteTopicReader<Field>) => void;
}

/** One pass over the records. */
export class SqliteTopicReader<Field extends string | Uint8Array> extends PullReader<Field> {
  readonly #options: SqliteTopicReaderOptions<Field>;
  readonly #opened: Promise<unknown>;
  /** Ends the wait for a chunk. */
  #stopWaiting: () => void = () => {};
  #chunk: RecordChunk | null = null;
  #at = 0;

  constructor(options: SqliteTopicReaderOptions<Field>) {
    const { link, reader, read } = options;
    super(read);
    this.#options = options;
    const { topic, partitions = null, group = null, from = 'earliest', follow = false } = read;
    this.#opened = link.call('open-reader', { reader, topic, partitions, group, from, follow });
    // The first `next` reports it; without one it must not become an unhandled rejection.
    this.#opened.catch(() => {});
    this.closeOnAbort();
  }

  protected override async commitOffset(offset: OffsetCommit): Promise<void> {
    await this.#options.link.call('commit-read', offset);
  }

  protected override async end(): Promise<void> {
    const { link, reader, onClose } = this.#options;
    this.#chunk = null;
    this.#stopWaiting();
    onClose(this);
    try {
      await link.call('close-reader', { reader });
    } catch {
      // With the log gone, so is its reader.
    }
  }

  protected override async nextResult(): Promise<IteratorResult<TopicRecord<Field>, undefined>> {
    while (!this.isClosed) {
      try {
        const record = this.#take();
        if (record !== null) return { done: false, value: this.#options.fieldsOf(record) };
        await this.#opened;
        this.#chunk = await this.#nextChunk();
      } catch (error) {
        const ended = this.isClosed && error instanceof TopicLogError && error.code === 'HEADGATE_TOPIC_LOG_CLOSED';
        await this.close();
        if (ended) break;
        throw error;
      }
      this.#at = 0;
      if (this.#chunk === null) await this.close();
    }
    return { done: true, value: undefined };
  }

  /** Null at the end, and when the reader is closed meanwhile. A race against one promise of the whole reading would keep every chunk. */
  #nextChunk(): Promise<RecordChunk | null> {
    const { link, reader } = this.#options;
    return new Promise((resolve, reject) => {
      this.#stopWaiting = () => resolve(null);
      link.call('next-chunk', { reader }).then(resolve, reject);
    });
  }

  #take(): TopicRecord<string | Uint8Array> | null {
    const chunk = this.#chunk;
    const index = this.#at++;
    const offset = chunk?.offsets[index];
    if (chunk === null || offset === undefined) return null;
    return {
      topic: this.#options.read.topic,
      partition: chunk.partition,
      offset,
      key: chunk.keys[index] ?? null,
      value: chunk.values[index] ?? null,
      headers: parsedHeaders(chunk.headers[index] ?? null),
      timestampMs: chunk.timestampsMs[index] ?? 0,
    };
  }
}
