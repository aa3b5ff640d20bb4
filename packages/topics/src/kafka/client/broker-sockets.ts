import type { Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import type { Availability } from '../../availability.ts';
import type { BrokerAddresses } from './broker-addresses.ts';
import { kafkajsSockets } from './kafkajs-internals.ts';
import { CHECK_MS, Watchdog } from './watchdog.ts';

/**
 * All connections of a log to its brokers. kafkajs closes a connection only when every request is answered, and some of its work goes on
 * after a disconnect; this class lets no connection outlive the log.
 */
export class BrokerSockets {
  readonly #availability: Availability;
  readonly #addresses: BrokerAddresses;
  readonly #connect: ISocketFactory = kafkajsSockets();
  readonly #open = new Set<Socket>();
  readonly #watchdogs = new Set<Watchdog>();
  readonly #looking: NodeJS.Timeout;
  #closed = false;

  get closed(): boolean {
    return this.#closed;
  }

  constructor(availability: Availability, addresses: BrokerAddresses) {
    this.#availability = availability;
    this.#addresses = addresses;
    this.#looking = setInterval(() => {
      for (const watchdog of this.#watchdogs) watchdog.check();
    }, CHECK_MS).unref();
  }

  /** For kafkajs's `socketFactory`. Reports a broker that doesn't answer in time. */
  readonly make: ISocketFactory = (options) => this.#make(options);

  /** As `make`, for those whose requests a broker may answer that late. */
  patient(answerWithinMs: number): ISocketFactory {
    return (options) => this.#make(options, answerWithinMs);
  }

  #make(options: Parameters<ISocketFactory>[0], answerWithinMs?: number): Socket {
    if (this.#closed) throw new Error('The log is closed.');
    const broker = `${options.host}:${options.port}`;
    const socket = this.#connect(options);
    const watchdog = new Watchdog({
      socket,
      broker,
      ...(answerWithinMs !== undefined && { answerWithinMs }),
      explained: (reason) => this.#addresses.explained(reason, broker),
      watcher: this.#availability.watcher(),
    });
    this.#open.add(socket);
    this.#watchdogs.add(watchdog);
    socket.once('data', () => this.#addresses.answered(broker));
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#watchdogs.delete(watchdog);
      watchdog.end();
    });
    return socket;
  }

  /** Requests in flight fail at once. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#looking);
    // kafkajs hears of errors, not of closing alone.
    for (const socket of this.#open) socket.destroy(new Error('The log is closed.'));
  }
}
