import type { Socket } from 'node:net';
import type { AvailabilityWatcher } from '../../availability.ts';

/** In looks, not by a clock: a process that was stopped itself finds the answers only when it goes on. */
const SILENT_LOOKS = 6;
/** What has failed with the connection says so itself until then. */
const LINGER_MS = 2_000;

export interface SilenceOptions {
  readonly socket: Socket;
  /** `host:port` */
  readonly broker: string;
  readonly watcher: AvailabilityWatcher;
}

/** Notices that a broker owes an answer and sends nothing: a frozen one keeps its connections, and requests to it fail much later. */
export class Silence {
  readonly #options: SilenceOptions;
  /** Written when the newest answer came. Nothing of it is still open where one request waits for the other's answer. */
  #answeredBytes = 0;
  #looks = 0;
  /** Of the first look that found an answer owed. */
  #sinceMs = 0;

  constructor(options: SilenceOptions) {
    this.#options = options;
    const { socket, watcher } = options;
    socket.on('data', () => {
      this.#answeredBytes = socket.bytesWritten;
      if (this.#looks >= SILENT_LOOKS) watcher.reached();
      this.#looks = 0;
    });
  }

  /** To be called every half second. */
  look(): void {
    const { socket, broker, watcher } = this.#options;
    if (socket.writableEnded) return this.end();
    if (socket.bytesWritten === this.#answeredBytes) return;
    this.#looks += 1;
    if (this.#looks === 1) this.#sinceMs = Date.now();
    if (this.#looks === SILENT_LOOKS) watcher.missed(`${broker} does not answer`, this.#sinceMs);
  }

  /** Nothing is asked on the connection any more. */
  end(): void {
    if (this.#looks >= SILENT_LOOKS) setTimeout(() => this.#options.watcher.reached(), LINGER_MS).unref();
    this.#looks = 0;
  }
}
