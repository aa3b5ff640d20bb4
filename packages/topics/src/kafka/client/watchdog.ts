import type { Socket } from 'node:net';
import type { AvailabilityWatcher } from '../../availability.ts';

/** Between two looks. They are counted, not timed: a process that was stopped itself finds the answers only when it goes on. */
export const LOOK_MS = 500;
const ANSWER_WITHIN_MS = 3_000;
/** Less than kafkajs waits for a connection, before it begins with the next. */
const UNCONNECTED_LOOKS = 4;
/** What has failed with the connection says so itself until then. */
const LINGER_MS = 2_000;

export interface SilenceOptions {
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
 * Notices that a broker lets nobody connect, or owes an answer and sends nothing: a frozen one keeps its connections, and requests to it fail
 * much later.
 */
export class Silence {
  readonly #options: SilenceOptions;
  readonly #mostLooks: number;
  /** Written when the newest answer came. Nothing of it is still open where one request waits for the other's answer. */
  #answeredBytes = 0;
  #looks = 0;
  /** Of the first look that found an answer owed. */
  #sinceMs = 0;
  #isTold = false;

  constructor(options: SilenceOptions) {
    this.#options = options;
    this.#mostLooks = Math.ceil((options.answerWithinMs ?? ANSWER_WITHIN_MS) / LOOK_MS);
    const { socket } = options;
    const answered = (): void => {
      this.#answeredBytes = socket.bytesWritten;
      this.#looks = 0;
      if (this.#isTold) options.watcher.reached();
      this.#isTold = false;
    };
    socket.once('connect', answered);
    socket.on('data', answered);
  }

  /** To be called every `LOOK_MS`. */
  look(): void {
    const { socket, broker } = this.#options;
    if (socket.writableEnded) return this.end();
    const { connecting } = socket;
    if (!connecting && socket.bytesWritten === this.#answeredBytes) return;
    this.#looks += 1;
    if (this.#looks === 1) this.#sinceMs = Date.now();
    if (this.#looks === (connecting ? UNCONNECTED_LOOKS : this.#mostLooks)) this.#tell(`${broker} does not answer`);
  }

  /** Nothing is asked on the connection any more. */
  end(): void {
    if (this.#isTold) setTimeout(() => this.#options.watcher.reached(), LINGER_MS).unref();
    this.#isTold = false;
    this.#looks = 0;
  }

  #tell(reason: string): void {
    const { watcher, explained } = this.#options;
    this.#isTold = true;
    watcher.missed(explained(reason), this.#sinceMs);
  }
}
