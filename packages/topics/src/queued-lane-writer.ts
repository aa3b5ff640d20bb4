import { SerialQueue } from './serial-queue.ts';
import { type TopicLogError, closedError } from './topic-log-error.ts';
import type { LaneTransaction, LaneWriter, StateReading } from './topic-log.ts';

/** Base class of every driver's lane writer. Runs transactions in call order, and releases the lane after them. */
export abstract class QueuedLaneWriter implements LaneWriter {
  readonly #name: string;
  readonly #transactions = new SerialQueue();
  #closed: Promise<void> | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  abstract get state(): StateReading;

  transaction(work: (tx: LaneTransaction) => void): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(this.closedError());
    return this.queued(() => this.write(work));
  }

  /** Runs the driver's own work between transactions. */
  protected queued<T>(work: () => Promise<T>): Promise<T> {
    return this.#transactions.run(work);
  }

  close(): Promise<void> {
    this.#closed ??= this.release();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected closedError(): TopicLogError {
    return closedError(`Lane "${this.#name}"`);
  }

  protected abstract write(work: (tx: LaneTransaction) => void): Promise<void>;
  /** Releases the lane after all transactions that were called earlier (`queued`). Called once. */
  protected abstract release(): Promise<void>;
}
