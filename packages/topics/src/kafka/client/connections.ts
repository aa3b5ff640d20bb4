import type { Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import type { Availability } from '../../availability.ts';
import type { BrokerAddresses } from './broker-addresses.ts';
import { repair } from './connection.ts';
import { type KafkajsConnection, kafkajsSockets } from './kafkajs-internals.ts';
import { CHECK_MS, Watchdog } from './watchdog.ts';

export interface ConnectionsOptions {
  readonly availability: Availability;
  readonly addresses: BrokerAddresses;
}

/**
 * All connections of a log to its brokers. kafkajs closes a connection only when every request is answered, and some of its work continues
 * after a disconnect. This class closes every connection with the log, and lets no new one open.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #connect: ISocketFactory = kafkajsSockets();
  readonly #open = new Map<Socket, Watchdog>();
  readonly #looking: NodeJS.Timeout;
  #closed = false;

  get closed(): boolean {
    return this.#closed;
  }

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#looking = setInterval(() => {
      for (const watchdog of this.#open.values()) watchdog.check();
    }, CHECK_MS).unref();
  }

  /** Repairs a connection of kafkajs, and reports a broker that doesn't respond on it in time. */
  own(connection: KafkajsConnection): void {
    repair(connection);
    connection.socketFactory = (options) => this.#make(connection, options);
  }

  #make(connection: KafkajsConnection, options: Parameters<ISocketFactory>[0]): Socket {
    if (this.#closed) throw new Error('The log is closed.');
    const { availability, addresses } = this.#options;
    const broker = `${options.host}:${options.port}`;
    const socket = this.#connect(options);
    const watchdog = new Watchdog({
      connection,
      socket,
      broker,
      addresses,
      watcher: availability.watcher(),
    });
    this.#open.set(socket, watchdog);
    socket.once('data', () => addresses.answered(broker));
    socket.once('close', () => {
      this.#open.delete(socket);
      watchdog.end();
    });
    return socket;
  }

  /** Closes all connections. Requests in flight fail at once. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#looking);
    // kafkajs listens to a socket's `error`, but not to its `close`.
    for (const socket of this.#open.keys()) socket.destroy(new Error('The log is closed.'));
  }
}
