import { connectionPrototype, type KafkajsConnection } from './kafkajs-internals.ts';

/** Brokers take no second authentication on a connection within a second of the first (KIP-368). */
const AUTHENTICATED_FOR_MS = 1_100;

/** Before the bytes of an answer. */
const SIZE_BYTES = 4;
/** Beyond the request's id an answer may be empty. */
const LEAST_ANSWER_BYTES = 4;

/**
 * Patches three things in the connection of kafkajs 2.2.4. It opens a second socket when it is to connect while it connects, as for the first
 * fetches of several readers, and forgets the first: that stays open, and takes the other one with it when the broker closes it for being idle.
 * And in the last seconds of a session it authenticates before each request, as long as that session can't be made longer: brokers refuse
 * that (ILLEGAL_SASL_STATE), and each refusal costs the connection.
 * And it keeps the first bytes of an answer that breaks off, takes them for the beginning of the next connection's, and throws in the socket's handler,
 * where nothing catches it, for a size that can't be.
 * To be called before the first connection, and as often as one likes.
 */
export function patchConnection(): void {
  replace(connectionPrototype, {
    connect: connectOnce,
    isAuthenticated: isAuthenticatedForAWhile,
    processData: processOrHangUp,
  });
}

function replace(prototype: KafkajsConnection, replacements: Partial<KafkajsConnection>): void {
  for (const [name, patched] of Object.entries(replacements)) {
    const method: unknown = Reflect.get(prototype, name);
    if (method !== patched) Object.assign(prototype, { [`${name}AsDelivered`]: method, [name]: patched });
  }
}

function connectOnce(this: KafkajsConnection): Promise<unknown> {
  if (this.connecting === undefined && !this.isConnected()) Object.assign(this, { chunks: [], bytesBuffered: 0, bytesNeeded: SIZE_BYTES });
  this.connecting ??= this.connectAsDelivered?.().finally(() => {
    this.connecting = undefined;
  });
  return this.connecting ?? Promise.resolve();
}

function isAuthenticatedForAWhile(this: KafkajsConnection): boolean {
  const { authenticatedAt } = this;
  if (authenticatedAt === undefined || authenticatedAt === null) return false;
  const [seconds, nanoseconds] = process.hrtime([...authenticatedAt]);
  return 1_000 * seconds + nanoseconds / 1e6 < AUTHENTICATED_FOR_MS || this.isAuthenticatedAsDelivered?.() === true;
}

function processOrHangUp(this: KafkajsConnection, data: Buffer): void {
  try {
    // The size of an answer is looked at when it is there, and not again until the answer is.
    const isNext = this.bytesNeeded === SIZE_BYTES && (this.authHandlers ?? null) === null;
    if (isNext) assertSizes(this.bytesBuffered === 0 ? data : Buffer.concat([...this.chunks, data]));
    this.processDataAsDelivered?.(data);
  } catch (error) {
    this.socket?.destroy(error instanceof Error ? error : new Error('An answer could not be read.', { cause: error }));
  }
}

/** Throws where one of the answers in `bytes` has a size that none has. */
function assertSizes(bytes: Buffer): void {
  for (let at = 0; at + SIZE_BYTES <= bytes.length;) {
    const size = bytes.readInt32BE(at);
    if (size < LEAST_ANSWER_BYTES) throw new Error(`An answer says that it has ${size} bytes. The connection is closed.`);
    at += SIZE_BYTES + size;
  }
}
