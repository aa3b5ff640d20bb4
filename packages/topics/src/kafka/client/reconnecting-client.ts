import { Backoff } from '../../backoff.ts';
import { driverError, verdictOf } from './driver-errors.ts';
import type { Patience } from './patience.ts';
import { abortable, soon } from './time-limit.ts';

const PAUSES = { firstMs: 50, mostMs: 1_000 };

/** A client object that connects once, and is discarded after a fault. */
interface Connection {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

export interface ReconnectingClientOptions<C extends Connection> {
  readonly create: () => C;
  readonly patience: () => Patience;
}

/** A connection that is replaced whenever it fails. */
export class ReconnectingClient<C extends Connection> {
  readonly #options: ReconnectingClientOptions<C>;
  readonly #closed = new AbortController();
  #connection: Promise<C> | undefined;

  constructor(options: ReconnectingClientOptions<C>) {
    this.#options = options;
  }

  /**
   * Runs `work` until it succeeds, fails for good, or `signal` aborts. Then it rejects with the signal's reason at once, even if a broker
   * owes `work` a response. Waits for unreachable brokers.
   */
  async run<T>(work: (connection: C) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const over = signal === undefined ? this.#closed.signal : AbortSignal.any([signal, this.#closed.signal]);
    const patience = this.#options.patience();
    try {
      for (const backoff = new Backoff(PAUSES); ;) {
        over.throwIfAborted();
        const requestedMs = Date.now();
        try {
          return await abortable(this.once(work), over);
        } catch (error) {
          over.throwIfAborted();
          if (!patience.waitsOut(error)) throw driverError(error);
          patience.missed(error, requestedMs);
        }
        await backoff.pause(over);
      }
    } finally {
      if (over.aborted) patience.gaveUp();
      else patience.reached();
    }
  }

  /** As `run`, once: throws what `work` throws. */
  async once<T>(work: (connection: C) => Promise<T>): Promise<T> {
    const connection = this.#connected();
    try {
      return await work(await connection);
    } catch (error) {
      if (this.#connection === connection && verdictOf(error) !== 'final') this.#connection = undefined;
      throw error;
    } finally {
      // Another call's failure may have ended it meanwhile, and kafkajs reconnects for calls that still use it.
      if (this.#connection !== connection) connection.then((dropped) => dropped.disconnect()).catch(() => undefined);
    }
  }

  /** Calls in flight reject with an AbortError. */
  async close(): Promise<void> {
    this.#closed.abort();
    const connection = this.#connection;
    this.#connection = undefined;
    await soon(Promise.resolve(connection?.then((last) => last.disconnect())));
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
