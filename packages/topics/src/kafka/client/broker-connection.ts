import { type Availability, HICCUP_MS } from '../../availability.ts';
import { TopicLogError } from '../../topic-log-error.ts';
import { type SupportedVersions, apiVersions, saslAuthenticate, saslHandshake } from '../requests/connections.ts';
import { decodeAnswer, encodeRequest } from '../requests/frame.ts';
import { ANSWERS_WITHIN_MS, type Answered, type Request } from '../requests/request.ts';
import { AnsweredError, answeredError, refusalError } from './answered-error.ts';
import { type BrokerAddresses, silenceOf } from './broker-addresses.ts';
import { ConnectionError } from './connection-error.ts';
import { Transport, type TransportOptions } from './transport.ts';

/**
 * Interval of the checks for overdue responses. Time limits count checks instead of reading a clock: after a suspension of the process, a clock would
 * show timeouts although the responses have arrived by then.
 */
const CHECK_MS = 500;
/** How long after the report that a broker isn't responding its connection is given up. */
const SPARED_MS = 12_000;
/**
 * The same for the first request of a connection, to which every broker responds at once. Longer than an outage must last to be reported, because
 * whoever gives up withdraws the report.
 */
const SPARED_AT_FIRST_MS = HICCUP_MS + CHECK_MS;
/** A connection authenticates again this long before its session ends, but not within `AUTHENTICATED_FOR_MS`. */
const RENEWED_BEFORE_MS = 2_000;
/** Brokers refuse a second authentication within a second (KIP-368). */
const AUTHENTICATED_FOR_MS = 1_100;
const UNSUPPORTED_VERSION = 35;
/**
 * The API keys of requests to which a broker responds after other brokers have a copy of what it wrote: Produce, OffsetCommit, JoinGroup, SyncGroup,
 * CreateTopics, InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, TxnOffsetCommit and CreatePartitions.
 */
const COPIED: ReadonlySet<number> = new Set([0, 8, 11, 14, 19, 22, 24, 25, 26, 28, 37]);

/** How a client proves to a broker who it is (SASL). */
export interface Authentication {
  /** Name of the mechanism in the protocol. */
  readonly mechanism: string;
  /** Sends messages with `exchange`, which resolves to the broker's responses. Rejects if the broker refuses the client. */
  authenticate(exchange: (message: Buffer) => Promise<Buffer>, broker: string): Promise<void>;
}

export interface ConnectionOptions extends TransportOptions {
  readonly authentication: Authentication | undefined;
  readonly addresses: BrokerAddresses;
  readonly availability: Availability;
}

/** A connection whose broker has named the versions that it supports, and has accepted the user. It is replaced after an error, never repaired. */
export class BrokerConnection {
  readonly #address: string;
  readonly #options: ConnectionOptions;
  readonly #transport: Transport;
  #versions: SupportedVersions = new Map();
  #authenticating: Promise<void> | undefined;
  /** When to authenticate again, on the clock of `performance`. */
  #renewAtMs = Infinity;

  private constructor(address: string, options: ConnectionOptions, transport: Transport) {
    this.#address = address;
    this.#options = options;
    this.#transport = transport;
  }

  /** Connects to the broker at `host:port`. The connection closes when `signal` aborts. */
  static async open(address: string, options: ConnectionOptions, signal: AbortSignal): Promise<BrokerConnection> {
    const { addresses, authentication } = options;
    let transport: Transport | undefined;
    try {
      transport = await Transport.connect(address, options, signal).catch((error: unknown) => {
        throw new ConnectionError(address, error);
      });
      const connection = new BrokerConnection(address, options, transport);
      connection.#versions = (await connection.#ask(apiVersions, {}, SPARED_AT_FIRST_MS)).versions;
      addresses.answered(address);
      if (authentication !== undefined) await connection.#authenticate(authentication);
      return connection;
    } catch (error) {
      signal.throwIfAborted();
      transport?.close(error as Error);
      addresses.silent(address);
      throw error;
    }
  }

  /** Resolves as soon as no request can be sent any more, because either side has closed the connection. */
  get closed(): Promise<void> {
    return this.#transport.closed;
  }

  /** Sends a request once. Throws an error that the table of errors calls final if the broker doesn't support the request's version. */
  async send<Options, Answer>(request: Request<Options, Answer>, options: Options): Promise<Answered<Answer>> {
    assertSupported(this.#versions, request);
    const { authentication } = this.#options;
    if (authentication !== undefined && performance.now() >= this.#renewAtMs) await this.#authenticate(authentication);
    return await this.#exchange(request, options, SPARED_MS);
  }

  async #ask<Options, Answer>(request: Request<Options, Answer>, options: Options, sparedMs: number = SPARED_MS): Promise<Answer> {
    const { answer, refusals } = await this.#exchange(request, options, sparedMs);
    const refused = refusalError(refusals);
    if (refused !== undefined) throw refused;
    return answer;
  }

  async #exchange<Options, Answer>(request: Request<Options, Answer>, options: Options, sparedMs: number): Promise<Answered<Answer>> {
    const limitMs = request.answersWithinMs?.(options) ?? ANSWERS_WITHIN_MS;
    const response = this.#transport.exchange(encodeRequest(request, options, this.#options.clientId));
    const answered = decodeAnswer(request, options, await this.#inTime(response, limitMs, sparedMs, COPIED.has(request.key)));
    this.#transport.throttle(answered.throttleMs);
    return answered;
  }

  /**
   * Reports the broker if nothing has come from it for `limitMs`, and closes the connection `sparedMs` later. A frozen broker keeps its connections
   * open, so requests to it would never fail.
   */
  async #inTime<T>(response: Promise<T>, limitMs: number, sparedMs: number, isCopied: boolean): Promise<T> {
    const { availability, addresses } = this.#options;
    const watcher = availability.watcher();
    let sinceMs = Date.now();
    let { bytesRead } = this.#transport;
    let checks = 0;
    let isReported = false;
    const check = (): void => {
      if (this.#transport.bytesRead !== bytesRead) [checks, sinceMs, bytesRead] = [0, Date.now(), this.#transport.bytesRead];
      checks += 1;
      if (checks * CHECK_MS >= limitMs && !isReported) {
        const mayWait = isCopied && addresses.areSeveral;
        addresses.silent(this.#address);
        isReported = true;
        watcher.unavailable(addresses.silentReason(this.#address, mayWait), sinceMs, !mayWait);
      }
      if (checks * CHECK_MS >= limitMs + sparedMs) this.#transport.close(new Error(silenceOf(this.#address)));
    };
    const checking = setInterval(check, CHECK_MS).unref();
    try {
      const answer = await response;
      if (isReported) watcher.available();
      return answer;
    } catch (error) {
      // The outage stays reported, because the caller reports the error.
      watcher.abandoned();
      throw new ConnectionError(this.#address, error);
    } finally {
      clearInterval(checking);
    }
  }

  /** Authenticates, at the first time or again. Requests that come meanwhile wait. */
  #authenticate(authentication: Authentication): Promise<void> {
    this.#authenticating ??= this.#proveUser(authentication).finally(() => {
      this.#authenticating = undefined;
    });
    return this.#authenticating;
  }

  async #proveUser(authentication: Authentication): Promise<void> {
    let sessionMs = 0;
    const exchange = async (message: Buffer): Promise<Buffer> => {
      const answer = await this.#ask(saslAuthenticate, { message });
      ({ sessionMs } = answer);
      return answer.message;
    };
    try {
      await this.#ask(saslHandshake, { mechanism: authentication.mechanism });
      await authentication.authenticate(exchange, this.#address).catch((error: unknown) => {
        throw isRefusal(error) ? error : new ConnectionError(this.#address, error);
      });
      const leftMs = Math.max(AUTHENTICATED_FOR_MS, sessionMs - RENEWED_BEFORE_MS);
      this.#renewAtMs = sessionMs === 0 ? Infinity : performance.now() + leftMs;
    } catch (error) {
      // The broker may still be in the middle of the exchange.
      this.#transport.close(error as Error);
      throw error;
    }
  }
}

/** Throws UNSUPPORTED_VERSION, which is final, unless a broker supports the request. */
export function assertSupported(versions: SupportedVersions, { key, version }: Pick<Request<never, unknown>, 'key' | 'version'>): void {
  const { min = 0, max = -1 } = versions.get(key) ?? {};
  if (version < min || version > max) throw answeredError(UNSUPPORTED_VERSION);
}

/** True for an error that names a reason of its own. Any other one, such as a `TypeError` of a token provider's `fetch`, may pass. */
function isRefusal(error: unknown): boolean {
  return error instanceof ConnectionError || error instanceof AnsweredError || error instanceof TopicLogError;
}
