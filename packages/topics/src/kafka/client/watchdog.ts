import type { Socket } from 'node:net';
import type { AvailabilityWatcher } from '../../availability.ts';
import { ANSWERS_WITHIN_MS } from '../requests/request.ts';
import type { BrokerAddresses } from './broker-addresses.ts';
import type { KafkajsConnection, SentRequest } from './kafkajs-internals.ts';

/**
 * Interval of the checks. Time limits count checks instead of reading a clock: after a suspension of the process, a clock would show timeouts
 * although the responses have arrived by then.
 */
export const CHECK_MS = 500;
/** Less than the driver's `connectionTimeout`, after which kafkajs gives up an attempt to connect. */
const CONNECTS_WITHIN_MS = 2_000;
/** How long a report outlasts its connection. Within this time, the requests that failed with the connection make their own reports. */
const LINGER_MS = 2_000;
/**
 * The API keys of requests to which a broker responds after other brokers have a copy of what it wrote: Produce, OffsetCommit, JoinGroup, SyncGroup,
 * CreateTopics, InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, TxnOffsetCommit and CreatePartitions.
 */
const COPIED: ReadonlySet<number> = new Set([0, 8, 11, 14, 19, 22, 24, 25, 26, 28, 37]);

export interface WatchdogOptions {
  readonly connection: Pick<KafkajsConnection, 'requestQueue' | 'authHandlers'>;
  readonly socket: Socket;
  /** `host:port` */
  readonly broker: string;
  readonly watcher: AvailabilityWatcher;
  readonly addresses: Pick<BrokerAddresses, 'explained' | 'silent' | 'areSeveral'>;
}

/**
 * Reports a broker that sends nothing for longer than it should need to accept a connection, to authenticate, or to answer the oldest request in
 * flight. Brokers answer in order. A frozen broker keeps its connections open, so requests to it would fail only much later.
 * The watchdog also times out requests, by counting checks. kafkajs would check ten times a second, and compare wall clock times, which jump when the
 * clock is set.
 */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #looks = new WeakMap<SentRequest, number>();
  /**
   * The object that the broker's next response belongs to, as of the last check: the connecting socket, a request, or an authentication's handlers.
   */
  #owed: object | undefined;
  #bytesRead = 0;
  #checks = 0;
  /** Time of the check from which `#checks` counts, epoch ms. */
  #sinceMs = 0;
  #isReported = false;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    const { socket } = options;
    const answered = (): void => {
      if (this.#isReported) options.watcher.available();
      this.#isReported = false;
    };
    socket.once('connect', answered);
    socket.on('data', answered);
  }

  /** Call every `CHECK_MS`. */
  check(): void {
    const { socket, connection } = this.#options;
    if (socket.writableEnded) return this.end();
    const { inflight } = connection.requestQueue;
    const [oldest] = inflight.values();
    const owed = socket.connecting ? socket : (oldest ?? connection.authHandlers ?? undefined);
    const isSame = owed === this.#owed && socket.bytesRead === this.#bytesRead;
    this.#checks = owed === undefined ? 0 : isSame ? this.#checks + 1 : 1;
    this.#owed = owed;
    this.#bytesRead = socket.bytesRead;
    if (this.#checks === 1) this.#sinceMs = Date.now();
    const withinMs = socket.connecting ? CONNECTS_WITHIN_MS : this.#withinMs(oldest);
    if (owed !== undefined && this.#checks === Math.ceil(withinMs / CHECK_MS)) this.#tell(oldest);
    for (const request of inflight.values()) {
      const looks = this.#looks.get(request) ?? 0;
      this.#looks.set(request, looks + 1);
      if (looks * CHECK_MS >= request.requestTimeout) request.timeoutRequest();
    }
  }

  /** Ends the watch. Call when the connection has closed. */
  end(): void {
    if (this.#isReported) setTimeout(() => this.#options.watcher.available(), LINGER_MS).unref();
    this.#isReported = false;
    this.#checks = 0;
  }

  #withinMs(request: SentRequest | undefined): number {
    return request?.entry.answersWithinMs ?? ANSWERS_WITHIN_MS;
  }

  #tell(request: SentRequest | undefined): void {
    const { watcher, addresses, broker } = this.#options;
    this.#isReported = true;
    addresses.silent(broker);
    const isCertain = request === undefined || !COPIED.has(request.entry.apiKey) || !addresses.areSeveral;
    const reason = `${broker} isn't responding${isCertain ? '' : ', or waits for another broker'}`;
    watcher.unavailable(addresses.explained(reason, broker), this.#sinceMs, isCertain ? 'silent' : undefined);
  }
}
