import { SerialQueue } from './serial-queue.ts';
import type { OffsetCommit, ReadOptions, RecordPosition, TopicReader, TopicRecord } from './topic-log.ts';

/** Converts a stored record to one with text, or one with bytes. */
export type FieldsOf<Field extends string | Uint8Array> = (record: TopicRecord<string | Uint8Array>) => TopicRecord<Field>;

/**
 * Base class of every driver's reader. It isn't a generator, because a generator's `return` would wait for a pending `next`, and a following reader's
 * `next` can wait forever.
 */
export abstract class PullReader<Field extends string | Uint8Array>
  implements TopicReader<Field>, AsyncIterator<TopicRecord<Field>, undefined>
{
  readonly #read: ReadOptions;
  readonly #abort: () => void;
  readonly #turns = new SerialQueue();
  /** Runs one commit at a time, because a driver can read the committed offset before it writes a new one. */
  readonly #commits = new SerialQueue();
  readonly #committed = new Map<number, number>();
  #closed: Promise<void> | undefined;

  constructor(read: ReadOptions) {
    this.#read = read;
    this.#abort = () => void this.close();
  }

  [Symbol.asyncIterator](): AsyncIterator<TopicRecord<Field>, undefined> {
    return this;
  }

  next(): Promise<IteratorResult<TopicRecord<Field>, undefined>> {
    return this.#turns.run(() => this.nextResult());
  }

  async return(): Promise<IteratorResult<TopicRecord<Field>, undefined>> {
    await this.close();
    return { done: true, value: undefined };
  }

  async commit({ topic, partition, offset }: RecordPosition): Promise<void> {
    const { group, topic: own } = this.#read;
    if (group === undefined) throw new TypeError(`This reader of "${own}" has no group to commit for. Give read() a group.`);
    if (topic !== own) throw new TypeError(`A reader of "${own}" can't commit a record of "${topic}".`);
    const nextOffset = offset + 1;
    await this.#commits.run(async () => {
      if ((this.#committed.get(partition) ?? 0) >= nextOffset) return;
      await this.commitOffset({ group, topic, partition, nextOffset });
      this.#committed.set(partition, nextOffset);
    });
  }

  close(): Promise<void> {
    this.#read.signal?.removeEventListener('abort', this.#abort);
    this.#closed ??= this.end();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** Closes the reader when its signal aborts; at once if the signal is already aborted. Call once, in the constructor. */
  protected closeOnAbort(): void {
    const { signal } = this.#read;
    if (signal?.aborted === true) this.#abort();
    else signal?.addEventListener('abort', this.#abort, { once: true });
  }

  /** Returns the next record. Calls don't overlap. An implementation closes the reader at the end, and before it throws. */
  protected abstract nextResult(): Promise<IteratorResult<TopicRecord<Field>, undefined>>;
  protected abstract commitOffset(offset: OffsetCommit): Promise<void>;
  /** Releases everything that the reader uses; called once. */
  protected abstract end(): Promise<void>;
}
