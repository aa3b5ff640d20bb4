import type { FieldsOf } from './pull-reader.ts';
import { bytesRecord, textRecord } from './record-fields.ts';
import { type TopicLogError, closedError } from './topic-log-error.ts';
import type { ReadOptions, TopicReader } from './topic-log.ts';

/** Base class of every driver's log. */
export abstract class OpenLog {
  readonly #name: string;
  #closed: Promise<void> | undefined;

  /** `name`: the subject of the message that the log is closed. */
  constructor(name: string) {
    this.#name = name;
  }

  read(options: ReadOptions): TopicReader {
    return this.reader(options, textRecord);
  }

  readBytes(options: ReadOptions): TopicReader<Uint8Array> {
    return this.reader(options, bytesRecord);
  }

  close(): Promise<void> {
    this.#closed ??= this.end();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected assertOpen(): void {
    if (this.#closed !== undefined) throw this.closedError();
  }

  protected closedError(): TopicLogError {
    return closedError(this.#name);
  }

  protected abstract reader<Field extends string | Uint8Array>(options: ReadOptions, fieldsOf: FieldsOf<Field>): TopicReader<Field>;
  /** Releases everything that the log uses; called once. */
  protected abstract end(): Promise<void>;
}
