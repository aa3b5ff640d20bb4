import type { Socket } from 'node:net';
import type { AvailabilityWatcher } from '../../availability.ts';

/** In looks, not by a clock: a process that was stopped itself finds the answers only when it goes on. */
const SILENT_LOOKS = 6;
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
  /** Whether answers to requests may take as long as they like. */
  readonly patient: boolean;
}

/**
 * Notices that a broker lets nobody connect, or owes an answer and sends nothing: a frozen one keeps its connections, and requests to it fail
 * much later.
 */
export class Silence {
  readonly #options: SilenceOptions;
  /** Written when the newest answer came. Nothing of it is still open where one request waits for the other's answer. */
  #answeredBytes = 0;
  #looks = 0;
  /** Of the first look that found an answer owed. */
  #sinceMs = 0;
  #isTold = false;

  constructor(options: SilenceOptions) {
    this.#options = options;
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

  /** To be called every half second. */
  look(): void {
    const { socket, broker, patient } = this.#options;
    if (socket.writableEnded) return this.end();
    const { connecting } = socket;
    if (!connecting && (patient || socket.bytesWritten === this.#answeredBytes)) return;
    this.#looks += 1;
    if (this.#looks === 1) this.#sinceMs = Date.now();
    if (this.#looks === (connecting ? UNCONNECTED_LOOKS : SILENT_LOOKS)) this.#tell(`${broker} does not answer`);
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
