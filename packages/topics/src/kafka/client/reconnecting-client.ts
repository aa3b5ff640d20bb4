import { verdictOf } from './driver-errors.ts';
import type { Patience } from './patience.ts';
import { retry } from './retry.ts';
import { waitForClose } from './time-limit.ts';

/** A client object that connects once, and is discarded after an error. */
interface Connection {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

export interface ReconnectingClientOptions<C extends Connection> {
  readonly create: () => C;
  readonly patience: () => Patience;
}

/** A connection that is replaced after an error, unless the error is final. */
export class ReconnectingClient<C extends Connection> {
  readonly #options: ReconnectingClientOptions<C>;
  readonly #closed = new AbortController();
  #connection: Promise<C> | undefined;

  constructor(options: ReconnectingClientOptions<C>) {
    this.#options = options;
  }

  /** Retries `work` until it succeeds, fails for good, or `signal` aborts. */
  async run<T>(work: (connection: C) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const either = signal === undefined ? this.#closed.signal : AbortSignal.any([signal, this.#closed.signal]);
    return await retry(() => this.once(work), { patience: this.#options.patience(), signal: either });
  }

  async once<T>(work: (connection: C) => Promise<T>): Promise<T> {
    const connection = this.#connected();
    try {
      return await work(await connection);
    } catch (error) {
      if (this.#connection === connection && verdictOf(error) !== 'final') this.#connection = undefined;
      throw error;
    } finally {
      // Another call may have dropped this connection meanwhile and disconnected it. Disconnect it again, because kafkajs reconnects for calls that
      // still use it.
      if (this.#connection !== connection) connection.then((dropped) => dropped.disconnect()).catch(() => undefined);
    }
  }

  /** Calls of `run` in flight reject with `reason`. */
  async close(reason: Error): Promise<void> {
    this.#closed.abort(reason);
    const connection = this.#connection;
    this.#connection = undefined;
    await waitForClose(Promise.resolve(connection?.then((last) => last.disconnect())));
  }

  #connected(): Promise<C> {
    this.#closed.signal.throwIfAborted();
    this.#connection ??= this.#connect();
    return this.#connection;
  }

  async #connect(): Promise<C> {
    const connection = this.#options.create();
    try {
      await connection.connect();
      return connection;
    } catch (error) {
      this.#connection = undefined;
      connection.disconnect().catch(() => undefined);
      throw error;
    }
  }
}
