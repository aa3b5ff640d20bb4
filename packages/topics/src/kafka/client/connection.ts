import type { KafkajsConnection } from './kafkajs-internals.ts';

/** A connection doesn't authenticate again within this time, because brokers refuse a second authentication within a second (KIP-368). */
const AUTHENTICATED_FOR_MS = 1_100;
/** Bytes of the size field that precedes each response. */
const SIZE_BYTES = 4;
/** Minimum size of a response, which contains at least the request's correlation ID. */
const MIN_ANSWER_BYTES = 4;
/** Interval at which kafkajs checks requests that it can't send yet. */
const POLL_MS = 10;

/**
 * Repairs five defects of a kafkajs 2.2.4 connection for which kafkajs has no option:
 *
 * - If the connection is told to connect while it is connecting, such as for the first fetches of several readers, it opens a second socket
 *   and forgets the first. The first socket stays open, and takes the second one down when the broker closes it as idle.
 * - Each call of `disconnect` leaves a listener on a socket that is gone, and Node warns of more than ten.
 * - If a session is shorter than kafkajs's threshold, the connection authenticates before each request. Brokers refuse to authenticate twice
 *   within a second (ILLEGAL_SASL_STATE), and each refusal closes the connection.
 * - If a response breaks off, the connection keeps the first bytes, and takes them for the beginning of a response after it has reconnected.
 *   The wrong size in these bytes can make it throw in the socket's handler, where nothing catches the error.
 * - The request queue keeps a timer with a negative delay running, even when it is idle. The timer costs CPU all the time, and Node prints a
 *   TimeoutNegativeWarning (tulios/kafkajs#1704, #1751).
 */
export function repair(connection: KafkajsConnection): void {
  const connect = connection.connect.bind(connection);
  const disconnect = connection.disconnect.bind(connection);
  const isAuthenticated = connection.isAuthenticated.bind(connection);
  const processData = connection.processData.bind(connection);
  let connecting: Promise<unknown> | undefined;
  let disconnected: { readonly socket: object | undefined; readonly done: Promise<unknown> } | undefined;
  Object.assign(connection, {
    connect(): Promise<unknown> {
      if (connecting === undefined && !connection.isConnected())
        Object.assign(connection, { chunks: [], bytesBuffered: 0, bytesNeeded: SIZE_BYTES });
      connecting ??= connect().finally(() => {
        connecting = undefined;
      });
      return connecting;
    },
    disconnect(): Promise<unknown> {
      const { socket } = connection;
      if (disconnected === undefined || disconnected.socket !== socket) disconnected = { socket, done: disconnect() };
      return disconnected.done;
    },
    isAuthenticated(): boolean {
      const { authenticatedAt } = connection;
      if (authenticatedAt === undefined || authenticatedAt === null) return false;
      const [seconds, nanoseconds] = process.hrtime([...authenticatedAt]);
      return 1_000 * seconds + nanoseconds / 1e6 < AUTHENTICATED_FOR_MS || isAuthenticated();
    },
    processData(data: Buffer): void {
      try {
        // While kafkajs waits for the next size, check all sizes that have arrived. Skip this for further chunks of a response.
        const isNext = connection.bytesNeeded === SIZE_BYTES && (connection.authHandlers ?? null) === null;
        if (isNext) assertSizes(connection.bytesBuffered === 0 ? data : Buffer.concat([...connection.chunks, data]));
        processData(data);
      } catch (error) {
        connection.socket?.destroy(
          error instanceof Error ? error : new Error('A response from the broker could not be read.', { cause: error }),
        );
      }
    },
  });
  const queue = connection.requestQueue;
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

function assertSizes(bytes: Buffer): void {
  for (let at = 0; at + SIZE_BYTES <= bytes.length;) {
    const size = bytes.readInt32BE(at);
    if (size < MIN_ANSWER_BYTES) throw new Error(`The broker sent a response with the invalid size ${size}, so the connection was closed.`);
    at += SIZE_BYTES + size;
  }
}
