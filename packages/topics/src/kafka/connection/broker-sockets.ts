import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import type { Availability } from '../../availability.ts';
import { Silence } from './silence.ts';

const require = createRequire(import.meta.url);
const kafkajsSockets = require('kafkajs/src/network/socketFactory') as () => ISocketFactory;

const LOOK_MS = 500;

/**
 * All connections of a log to its brokers. kafkajs closes one only when all it has asked for is answered, and some of its work goes on when
 * it was told to disconnect: none of them outlives the log.
 */
export class BrokerSockets {
  readonly #availability: Availability;
  readonly #connect: ISocketFactory = kafkajsSockets();
  readonly #open = new Set<Socket>();
  readonly #silences = new Set<Silence>();
  readonly #looking: NodeJS.Timeout;
  #closed = false;

  get closed(): boolean {
    return this.#closed;
  }

  constructor(availability: Availability) {
    this.#availability = availability;
    this.#looking = setInterval(() => {
      for (const silence of this.#silences) silence.look();
    }, LOOK_MS).unref();
  }

  /** For kafkajs's `socketFactory`. */
  readonly make: ISocketFactory = (options) => {
    if (this.#closed) throw new Error('The log is closed.');
    const socket = this.#connect(options);
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    return socket;
  };

  /** As `make`, for those whose requests brokers answer at once: when one doesn't, that is told. */
  readonly makeWatched: ISocketFactory = (options) => {
    const socket = this.make(options);
    const silence = new Silence({ socket, broker: `${options.host}:${options.port}`, watcher: this.#availability.watcher() });
    this.#silences.add(silence);
    socket.once('close', () => {
      this.#silences.delete(silence);
      silence.end();
    });
    return socket;
  };

  /** What is under way fails at once. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#looking);
    // kafkajs hears of errors, not of closing alone.
    for (const socket of this.#open) socket.destroy(new Error('The log is closed.'));
  }
}
