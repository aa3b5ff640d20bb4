import type { Socket } from 'node:net';
import type { AvailabilityWatcher } from '../../availability.ts';
import { ANSWERS_WITHIN_MS } from '../requests/request.ts';
import type { KafkajsConnection, SentRequest } from './kafkajs-internals.ts';

/** Interval of the checks, which are counted, not timed: a process that was suspended finds its responses only when it continues. */
export const CHECK_MS = 500;
/** Less than kafkajs waits for a connection before it tries the next one. */
const CONNECTS_WITHIN_MS = 2_000;
/** Requests that fail with the connection report it themselves within this time. */
const LINGER_MS = 2_000;
/** The numbers of JoinGroup and SyncGroup, which wait for the other members. */
const JOINS: ReadonlySet<number> = new Set([11, 14]);

export interface WatchdogOptions {
  readonly connection: Pick<KafkajsConnection, 'requestQueue' | 'authHandlers'>;
  readonly socket: Socket;
  /** `host:port` */
  readonly broker: string;
  readonly watcher: AvailabilityWatcher;
  /** Adds an explanation to the reason. */
  readonly explained: (reason: string) => string;
  /** How long a broker may owe the response to JoinGroup or SyncGroup, ms. */
  readonly joinsWithinMs: number;
}

/**
 * Watches what the broker of a socket owes: to accept the connection, or to answer the oldest request in flight, because a broker answers
 * in order. It reports a broker that sends no byte for as long as the request allows: a frozen broker keeps its connections, and requests
 * to it fail much later. It also times out requests by counted checks, because kafkajs goes by the wall clock, which may be set, and looks
 * 10 times a second.
 */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #looks = new WeakMap<SentRequest, number>();
  /** What the broker owed at the last check, and the bytes read by then. */
  #owed: object | undefined;
  #bytesRead = 0;
  #checks = 0;
  /** The time of the first check that found this debt. */
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
    const { socket, broker, connection } = this.#options;
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
    if (owed !== undefined && this.#checks === Math.ceil(withinMs / CHECK_MS)) this.#tell(`${broker} isn't responding`);
    for (const request of inflight.values()) {
      const looks = this.#looks.get(request) ?? 0;
      this.#looks.set(request, looks + 1);
      if (looks * CHECK_MS >= request.requestTimeout) request.timeoutRequest();
    }
  }

  /** No more requests follow on the connection. */
  end(): void {
    if (this.#isReported) setTimeout(() => this.#options.watcher.available(), LINGER_MS).unref();
    this.#isReported = false;
    this.#checks = 0;
  }

  #withinMs(request: SentRequest | undefined): number {
    const { answersWithinMs, apiKey = -1 } = request?.entry ?? {};
    return answersWithinMs ?? (JOINS.has(apiKey) ? this.#options.joinsWithinMs : ANSWERS_WITHIN_MS);
  }

  #tell(reason: string): void {
    const { watcher, explained } = this.#options;
    this.#isReported = true;
    watcher.unavailable(explained(reason), this.#sinceMs);
  }
}
