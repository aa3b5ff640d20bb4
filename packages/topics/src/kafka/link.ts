import { setTimeout as sleep } from 'node:timers/promises';
import type { AvailabilityWatcher } from './availability.ts';
import { failureText, isTransient } from './kafka-failure.ts';
import { soon } from './time-limit.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** What can be connected, and is thrown away after a fault. */
interface Connection {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

export interface LinkOptions<C extends Connection> {
  readonly create: () => C;
  readonly availability: AvailabilityWatcher;
}

/** A connection that is made anew whenever it fails. */
export class Link<C extends Connection> {
  readonly #options: LinkOptions<C>;
  readonly #closed = new AbortController();
  #connection: Promise<C> | undefined;

  constructor(options: LinkOptions<C>) {
    this.#options = options;
  }

  /** Runs `work` until it goes well, fails for good, or `signal` aborts (it rejects with its reason then). Brokers that are away are waited for. */
  async run<T>(work: (connection: C) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const over = signal === undefined ? this.#closed.signal : AbortSignal.any([signal, this.#closed.signal]);
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      over.throwIfAborted();
      try {
        const result = await work(await this.#connected());
        this.#options.availability.reached();
        return result;
      } catch (error) {
        over.throwIfAborted();
        if (!isTransient(error)) throw error;
        this.#drop();
        this.#options.availability.missed(failureText(error));
      }
      await sleep(pauseMs, undefined, { signal: over });
    }
  }

  /** As `run`, once: throws what `work` throws. */
  async once<T>(work: (connection: C) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#connected());
    } catch (error) {
      this.#drop();
      throw error;
    }
  }

  /** What is under way ends with an AbortError. */
  async close(): Promise<void> {
    this.#closed.abort();
    await soon(this.#disconnect());
  }

  async #disconnect(): Promise<void> {
    await (await this.#connection)?.disconnect();
  }

  #connected(): Promise<C> {
    this.#connection ??= this.#connect();
    return this.#connection;
  }

  async #connect(): Promise<C> {
    const connection = this.#options.create();
    try {
      await connection.connect();
      return connection;
    } catch (error) {
      connection.disconnect().catch(() => undefined);
      throw error;
    }
  }

  #drop(): void {
    const dropped = this.#connection;
    this.#connection = undefined;
    dropped?.then((connection) => connection.disconnect()).catch(() => undefined);
  }
}
