/**
 * One connection to a broker: frames of bytes out, the frames that answer them in. The only file of the driver that imports kafkajs, whose class
 * `Connection` matches responses with requests and waits while the broker throttles this client. It depends on how kafkajs 2.2.4 is made inside.
 */
import { addAbortListener } from 'node:events';
import { type Socket, connect as connectTcp, isIP } from 'node:net';
import { type ConnectionOptions as TlsOptions, connect as connectTls } from 'node:tls';
import description from 'kafkajs/package.json' with { type: 'json' };
import connectionModule from 'kafkajs/src/network/connection.js';
import errorModule from 'kafkajs/src/protocol/error.js';
import { TopicLogError } from '../../topic-log-error.ts';

const KNOWN_VERSION = '2.2.4';
const CONNECTS_WITHIN_MS = 3_000;
const KEEP_ALIVE_MS = 60_000;
/** Bytes of the size field that precedes each response. */
const SIZE_BYTES = 4;
/** Minimum size of a response, which contains at least the request's correlation ID. */
const MIN_ANSWER_BYTES = 4;
/** Interval at which kafkajs checks requests that it can't send yet. */
const POLL_MS = 10;

export interface TransportOptions {
  /** How brokers name this client in their logs and quotas. */
  readonly clientId: string;
  /** TLS: true, or Node's TLS options. */
  readonly ssl: boolean | TlsOptions;
}

/** Internals of kafkajs's connection. */
interface Kafkajs {
  connect(): Promise<unknown>;
  failIfNotConnected(): void;
  nextCorrelationId(): number;
  processData(data: Buffer): void;
  readonly bytesBuffered: number;
  readonly bytesNeeded: number;
  readonly chunks: readonly Buffer[];
  readonly requestQueue: {
    readonly pending: readonly unknown[];
    /** Milliseconds since the epoch; -1 for never. */
    readonly throttledUntil: number;
    throttleCheckTimeoutId: NodeJS.Timeout | null;
    checkPendingRequests(): void;
    scheduleCheckPendingRequests(): void;
    maybeThrottle(throttleMs: number): void;
    push(request: {
      readonly entry: {
        readonly correlationId: number;
        readonly resolve: (answer: { readonly payload: Buffer }) => void;
        readonly reject: (error: unknown) => void;
      };
      readonly expectResponse: true;
      readonly requestTimeout: null;
      readonly sendRequest: () => void;
    }): void;
  };
}

const KafkajsConnection = connectionModule as new (options: object) => Kafkajs;
const { errorCodes } = errorModule as {
  readonly errorCodes: readonly { readonly code: number; readonly type: string; readonly message: string }[];
};

/** kafkajs's name and text for an error code of Kafka's protocol; undefined for a code that it doesn't know. */
export function kafkajsError(code: number): { readonly type: string; readonly message: string } | undefined {
  return errorCodes.find((known) => known.code === code);
}

/** Throws a `TopicLogError` (HEADGATE_TOPIC_LOG_OPEN) if kafkajs isn't of the known version. `version`: default the installed one. */
export function assertKnownKafkajs(version: string = description.version): void {
  if (version === KNOWN_VERSION) return;
  const message = `kafkajs ${version} is installed, but the driver depends on the internals of ${KNOWN_VERSION}. Install that version.`;
  throw new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_OPEN', message });
}

/** An open connection. It is never opened again: whoever needs another one makes it. */
export class Transport {
  readonly #connection: Kafkajs;
  readonly #socket: Socket;
  #reason: Error | undefined;
  /** Resolves as soon as no request can be sent any more, because either side has closed the connection. */
  readonly closed: Promise<void>;

  private constructor(connection: Kafkajs, socket: Socket) {
    this.#connection = connection;
    this.#socket = socket;
    this.closed = new Promise((resolve) => {
      // Not `close` alone: kafkajs refuses requests from the first of these events on.
      for (const event of ['end', 'error', 'close']) socket.once(event, () => resolve());
    });
  }

  /** Connects to a broker, `host:port`. The connection closes when `signal` aborts, and requests in flight reject with the signal's reason. */
  static async connect(address: string, { clientId, ssl }: TransportOptions, signal: AbortSignal): Promise<Transport> {
    signal.throwIfAborted();
    const [host, port] = hostAndPort(address);
    let socket: Socket | undefined;
    const socketFactory = ({ onConnect }: { readonly onConnect: () => void }): Socket => {
      const servername = isIP(host) === 0 ? { servername: host } : {};
      socket = ssl === false ? connectTcp({ host, port }) : connectTls({ host, port, ...servername, ...(ssl === true ? {} : ssl) });
      socket
        .once(ssl === false ? 'connect' : 'secureConnect', onConnect)
        .setKeepAlive(true, KEEP_ALIVE_MS)
        .setNoDelay();
      return socket;
    };
    const connection = new KafkajsConnection({
      host,
      port,
      clientId,
      socketFactory,
      logger: SILENT,
      connectionTimeout: CONNECTS_WITHIN_MS,
      // `BrokerConnection` limits the time of each request.
      enforceRequestTimeout: false,
    });
    repairSizes(connection, (error) => void socket?.destroy(error));
    repairIdleQueue(connection);
    const aborted = addAbortListener(signal, () => socket?.destroy(signal.reason as Error));
    try {
      await connection.connect();
      if (socket === undefined) throw new TypeError('kafkajs connected without a socket.');
      const transport = new Transport(connection, socket);
      const listener = addAbortListener(signal, () => transport.close(signal.reason as Error));
      void transport.closed.then(() => listener[Symbol.dispose]());
      return transport;
    } catch (error) {
      socket?.destroy();
      signal.throwIfAborted();
      throw error instanceof Error && error.message === 'Connection timeout' ? new Error(`${address} isn't responding`) : error;
    } finally {
      aborted[Symbol.dispose]();
    }
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /**
   * Sends the request that `encode` returns for its correlation ID. Resolves to the response without its size and correlation ID. Rejects with the
   * reason of `close` after that was called.
   */
  async exchange(encode: (correlationId: number) => readonly Buffer[]): Promise<Buffer> {
    try {
      this.#connection.failIfNotConnected();
      const correlationId = this.#connection.nextCorrelationId();
      const { payload } = await new Promise<{ readonly payload: Buffer }>((resolve, reject) => {
        this.#connection.requestQueue.push({
          entry: { correlationId, resolve, reject },
          expectResponse: true,
          requestTimeout: null,
          sendRequest: () => {
            this.#socket.cork();
            for (const piece of encode(correlationId)) this.#socket.write(piece);
            this.#socket.uncork();
          },
        });
      });
      return payload;
    } catch (error) {
      throw this.#reason ?? error;
    }
  }

  /** Sends no request for this long. */
  throttle(throttleMs: number): void {
    this.#connection.requestQueue.maybeThrottle(throttleMs);
  }

  /** Closes the connection at once. Requests in flight reject with `reason`. */
  close(reason: Error): void {
    this.#reason ??= reason;
    // kafkajs listens to a socket's `error`, but not to its `close`.
    this.#socket.destroy(reason);
  }
}

/** Splits `host:port`. The host can be an IPv6 address, also in brackets. */
function hostAndPort(address: string): [host: string, port: number] {
  const at = address.lastIndexOf(':');
  return [address.slice(0, at).replace(/^\[(.*)\]$/u, '$1'), Number(address.slice(at + 1))];
}

/** A logger that writes nothing, because errors and `onAvailability` report what concerns the user. */
const SILENT = { namespace: () => SILENT, debug: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * Closes a connection that receives an impossible size, for example of a proxy that is no broker. kafkajs throws in the socket's handler then, where
 * nothing catches the error, or waits for ever.
 */
function repairSizes(connection: Kafkajs, close: (error: Error) => void): void {
  const processData = connection.processData.bind(connection);
  connection.processData = (data) => {
    try {
      // While kafkajs waits for the next size, check all sizes that have arrived. Skip this for further chunks of a response.
      if (connection.bytesNeeded === SIZE_BYTES)
        assertSizes(connection.bytesBuffered === 0 ? data : Buffer.concat([...connection.chunks, data]));
      processData(data);
    } catch (error) {
      close(error instanceof Error ? error : new Error('A response from the broker could not be read.', { cause: error }));
    }
  };
}

function assertSizes(bytes: Buffer): void {
  for (let at = 0; at + SIZE_BYTES <= bytes.length;) {
    const size = bytes.readInt32BE(at);
    if (size < MIN_ANSWER_BYTES) throw new Error(`The broker sent a response with the invalid size ${size}, so the connection was closed.`);
    at += SIZE_BYTES + size;
  }
}

/**
 * Sets a timer only while requests wait. kafkajs's queue keeps a timer with a negative delay running, even when it is idle. It costs CPU all the time,
 * and Node prints a TimeoutNegativeWarning (tulios/kafkajs#1704, #1751).
 */
function repairIdleQueue({ requestQueue: queue }: Kafkajs): void {
  queue.scheduleCheckPendingRequests = () => {
    if (queue.throttleCheckTimeoutId !== null || queue.pending.length === 0) return;
    const throttledMs = queue.throttledUntil - Date.now();
    queue.throttleCheckTimeoutId = setTimeout(
      () => {
        queue.throttleCheckTimeoutId = null;
        queue.checkPendingRequests();
      },
      throttledMs > 0 ? throttledMs : POLL_MS,
    );
  };
}
