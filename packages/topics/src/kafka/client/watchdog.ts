import type { Socket } from 'node:net';
import type { AvailabilityWatcher } from '../../availability.ts';

/** Between two checks. They are counted, not timed: a process that was stopped finds its answers only when it goes on. */
export const CHECK_MS = 500;
const ANSWER_WITHIN_MS = 3_000;
/** Less than kafkajs waits for a connection, before it begins with the next. */
const UNCONNECTED_CHECKS = 4;
/** Requests that fail with the connection report that themselves within this time. */
const LINGER_MS = 2_000;

export interface WatchdogOptions {
  readonly socket: Socket;
  /** `host:port` */
  readonly broker: string;
  readonly watcher: AvailabilityWatcher;
  /** Adds to what is wrong. */
  readonly explained: (reason: string) => string;
  /** How long answers may take, ms. Default 3000. */
  readonly answerWithinMs?: number;
}

/**
 * Notices a broker that accepts no connection, or owes an answer and sends nothing: a frozen broker keeps its connections, and requests to
 * it fail much later.
 */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #mostChecks: number;
  /** Bytes written when the newest answer came. Requests wait for each other's answers, so that all of these are answered. */
  #answeredBytes = 0;
  #checks = 0;
  /** The time of the first check that found an answer owed. */
  #sinceMs = 0;
  #isTold = false;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#mostChecks = Math.ceil((options.answerWithinMs ?? ANSWER_WITHIN_MS) / CHECK_MS);
    const { socket } = options;
    const answered = (): void => {
      this.#answeredBytes = socket.bytesWritten;
      this.#checks = 0;
      if (this.#isTold) options.watcher.reached();
      this.#isTold = false;
    };
    socket.once('connect', answered);
    socket.on('data', answered);
  }

  /** To be called every `CHECK_MS`. */
  check(): void {
    const { socket, broker } = this.#options;
    if (socket.writableEnded) return this.end();
    const { connecting } = socket;
    if (!connecting && socket.bytesWritten === this.#answeredBytes) return;
    this.#checks += 1;
    if (this.#checks === 1) this.#sinceMs = Date.now();
    if (this.#checks === (connecting ? UNCONNECTED_CHECKS : this.#mostChecks)) this.#tell(`${broker} does not answer`);
  }

  /** No more requests follow on the connection. */
  end(): void {
    if (this.#isTold) setTimeout(() => this.#options.watcher.reached(), LINGER_MS).unref();
    this.#isTold = false;
    this.#checks = 0;
  }

  #tell(reason: string): void {
    const { watcher, explained } = this.#options;
    this.#isTold = true;
    watcher.missed(explained(reason), this.#sinceMs);
  }
}
