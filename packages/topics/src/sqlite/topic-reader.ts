import { TopicLogClosedError } from '../topic-log-errors.ts';
import type { ReadOptions, RecordPosition, TopicReader, TopicRecord } from '../topic-log.ts';
import type { WorkerLink } from './worker-link.ts';
import type { RecordChunk } from './worker-protocol.ts';

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

export interface SqliteTopicReaderOptions {
  readonly link: WorkerLink;
  readonly reader: number;
  readonly read: ReadOptions;
  readonly onClose: (reader: SqliteTopicReader) => void;
}

/** One pass over the records. An iterator by hand: an async generator's `return` would wait behind a pending `next`, for ever when following. */
export class SqliteTopicReader implements TopicReader, AsyncIterator<TopicRecord, undefined> {
  readonly #options: SqliteTopicReaderOptions;
  readonly #opened: Promise<unknown>;
  readonly #abort: () => void;
  readonly #closing: Promise<null>;
  #resolveClosing: (end: null) => void = () => {};
  #turn: Promise<unknown> = Promise.resolve();
  #chunk: RecordChunk | null = null;
  #at = 0;
  #closed: Promise<void> | undefined;

  constructor(options: SqliteTopicReaderOptions) {
    const { link, reader, read } = options;
    this.#options = options;
    this.#abort = () => void this.close();
    this.#closing = new Promise((resolve) => (this.#resolveClosing = resolve));
    const { topic, partitions = null, group = null, from = 'earliest', follow = false } = read;
    this.#opened = link.call('open-reader', { reader, topic, partitions, group, from, follow });
    // Told by the first `next`; a reader nobody reads is no unhandled rejection.
    this.#opened.catch(() => {});
    if (read.signal?.aborted === true) this.#abort();
    else read.signal?.addEventListener('abort', this.#abort, { once: true });
  }

  [Symbol.asyncIterator](): AsyncIterator<TopicRecord, undefined> {
    return this;
  }

  next(): Promise<IteratorResult<TopicRecord, undefined>> {
    const result = this.#turn.then(() => this.#next());
    this.#turn = result.catch(() => {});
    return result;
  }

  async return(): Promise<IteratorResult<TopicRecord, undefined>> {
    await this.close();
    return { done: true, value: undefined };
  }

  async commit(record: RecordPosition): Promise<void> {
    const { group, topic } = this.#options.read;
    if (group === undefined) throw new TypeError(`This reader of "${topic}" has no group to commit for. Give read() a group.`);
    if (record.topic !== topic) throw new TypeError(`A reader of "${topic}" can't commit a record of "${record.topic}".`);
    await this.#options.link.call('commit-read', { group, topic, partition: record.partition, next: record.offset + 1 });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { link, reader, read, onClose } = this.#options;
    this.#chunk = null;
    this.#resolveClosing(null);
    read.signal?.removeEventListener('abort', this.#abort);
    onClose(this);
    try {
      await link.call('close-reader', { reader });
    } catch {
      // With the log gone, so is its reader.
    }
  }

  async #next(): Promise<IteratorResult<TopicRecord, undefined>> {
    while (this.#closed === undefined) {
      const record = this.#take();
      if (record !== null) return { done: false, value: record };
      try {
        await this.#opened;
        this.#chunk = await Promise.race([this.#options.link.call('next-chunk', { reader: this.#options.reader }), this.#closing]);
      } catch (error) {
        const ended = this.#closed !== undefined && error instanceof TopicLogClosedError;
        await this.close();
        if (ended) break;
        throw error;
      }
      this.#at = 0;
      if (this.#chunk === null) await this.close();
    }
    return { done: true, value: undefined };
  }

  #take(): TopicRecord | null {
    const chunk = this.#chunk;
    const index = this.#at++;
    const offset = chunk?.offsets[index];
    if (chunk === null || offset === undefined) return null;
    const headers = chunk.headers[index];
    return {
      topic: this.#options.read.topic,
      partition: chunk.partition,
      offset,
      key: chunk.keys[index] ?? null,
      value: chunk.values[index] ?? null,
      headers: typeof headers === 'string' ? (JSON.parse(headers) as Record<string, string>) : NO_HEADERS,
      timestampMs: chunk.timestampsMs[index] ?? 0,
    };
  }
}
