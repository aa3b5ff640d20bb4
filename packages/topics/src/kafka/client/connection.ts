import type { KafkajsConnection } from './kafkajs-internals.ts';

/** Brokers take no second authentication on a connection within a second of the first (KIP-368). */
const AUTHENTICATED_FOR_MS = 1_100;
/** Before the bytes of a response. */
const SIZE_BYTES = 4;
/** Beyond the request's ID a response may be empty. */
const LEAST_ANSWER_BYTES = 4;
/** How long requests that can't be sent yet wait for the next look, as kafkajs has it. */
const LOOK_AGAIN_MS = 10;

/**
 * Repairs a connection of kafkajs 2.2.4, none of which has an option for this:
 *
 * - It opens a second socket when it is to connect while it connects, as for the first fetches of several readers, and forgets the first: that stays
 *   open, and takes the other one with it when the broker closes it for being idle.
 * - In the last seconds of a session it authenticates before each request, as long as that session can't be made longer: brokers refuse that
 *   (ILLEGAL_SASL_STATE), and each refusal costs the connection.
 * - It keeps the first bytes of a response that breaks off, takes them for the beginning of the next connection's, and throws in the
 *   socket's handler, where nothing catches it, for a size that can't be.
 * - Its queue keeps a timer of a negative delay going, also when it is idle: that costs CPU all the time, and Node prints a TimeoutNegativeWarning
 *   (tulios/kafkajs#1704, #1751).
 */
export function repair(connection: KafkajsConnection): void {
  const connect = connection.connect.bind(connection);
  const isAuthenticated = connection.isAuthenticated.bind(connection);
  const processData = connection.processData.bind(connection);
  let connecting: Promise<unknown> | undefined;
  Object.assign(connection, {
    connect(): Promise<unknown> {
      if (connecting === undefined && !connection.isConnected())
        Object.assign(connection, { chunks: [], bytesBuffered: 0, bytesNeeded: SIZE_BYTES });
      connecting ??= connect().finally(() => {
        connecting = undefined;
      });
      return connecting;
    },
    isAuthenticated(): boolean {
      const { authenticatedAt } = connection;
      if (authenticatedAt === undefined || authenticatedAt === null) return false;
      const [seconds, nanoseconds] = process.hrtime([...authenticatedAt]);
      return 1_000 * seconds + nanoseconds / 1e6 < AUTHENTICATED_FOR_MS || isAuthenticated();
    },
    processData(data: Buffer): void {
      try {
        // The size of a response is looked at when it is there, and not again until the response is.
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
      throttledMs > 0 ? throttledMs : LOOK_AGAIN_MS,
    );
  };
}

/** Throws where one of the responses in `bytes` has a size that none has. */
function assertSizes(bytes: Buffer): void {
  for (let at = 0; at + SIZE_BYTES <= bytes.length;) {
    const size = bytes.readInt32BE(at);
    if (size < LEAST_ANSWER_BYTES)
      throw new Error(`The broker sent a response with the invalid size ${size}, so the connection was closed.`);
    at += SIZE_BYTES + size;
  }
}
