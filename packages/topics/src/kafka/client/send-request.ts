import type { Socket } from 'node:net';
import type { Answered, Request } from '../requests/request.ts';
import { AnswerReader } from '../wire/answer-reader.ts';
import { RequestWriter } from '../wire/request-writer.ts';
import { answeredError } from './answered-error.ts';
import { throwOfKafkajs } from './driver-errors.ts';
import { KafkaJSConnectionError } from './kafkajs-internals.ts';

/** Internals of kafkajs 2.2.4 between a broker and its socket. */
export interface Broker {
  /** Also false when the connection must authenticate again. */
  isConnected(): boolean;
  /** null until the broker has named them. kafkajs can call a broker connected before that. Read them with `versionsOf`. */
  readonly versions: SupportedVersions | null;
  readonly connectionPool: {
    readonly host: string;
    readonly port: number;
    isConnected(): boolean;
    getConnection(index: number): Promise<Connection>;
  };
}

/** Supported versions by the API key of a request. A request without an entry isn't supported. */
type SupportedVersions = Readonly<Record<number, { readonly minVersion?: number; readonly maxVersion: number }>>;

interface Connection {
  readonly clientId: string;
  readonly socket: Socket;
  isAuthenticated(): boolean;
  authenticate(): Promise<void>;
  failIfNotConnected(): void;
  nextCorrelationId(): number;
  readonly requestQueue: {
    push(request: {
      readonly entry: {
        readonly apiKey: number;
        readonly apiName: string;
        readonly apiVersion: number;
        readonly correlationId: number;
        readonly answersWithinMs: number | undefined;
        readonly resolve: (answer: { readonly payload: Buffer }) => void;
        readonly reject: (error: unknown) => void;
      };
      readonly expectResponse: true;
      readonly requestTimeout: null;
      readonly sendRequest: () => void;
    }): void;
    maybeThrottle(throttleMs: number): void;
  };
}

/** Indexes of a broker's two connections. */
const PROMPT = 0;
const WAITING = 1;
const UNSUPPORTED_VERSION = 35;

/** Throws a retryable error if the broker hasn't named its versions yet: nothing is known then about what it supports. */
export function versionsOf({ versions, connectionPool }: Pick<Broker, 'versions' | 'connectionPool'>): SupportedVersions {
  if (versions !== null) return versions;
  const broker = `${connectionPool.host}:${connectionPool.port}`;
  throw new KafkaJSConnectionError(`${broker} hasn't responded yet`, { broker });
}

/**
 * Sends a request through the queue of a kafkajs connection. The request's bytes go to the socket without being copied, unlike in kafkajs's own
 * encoder.
 */
export async function sendRequest<Options, Answer>(
  broker: Broker,
  request: Request<Options, Answer>,
  options: Options,
): Promise<Answered<Answer>> {
  const { key: apiKey, api: apiName, version: apiVersion, isFlexible = false } = request;
  const { minVersion = 0, maxVersion = -1 } = versionsOf(broker)[apiKey] ?? {};
  if (apiVersion < minVersion || apiVersion > maxVersion) throw answeredError(UNSUPPORTED_VERSION);
  const connection = await broker.connectionPool.getConnection(request.mayWait === true ? WAITING : PROMPT);
  // The error can also be that of the user's token provider, such as the TypeError that `fetch` throws for an unreachable server.
  if (!connection.isAuthenticated()) await connection.authenticate().catch(throwOfKafkajs);
  connection.failIfNotConnected();
  const correlationId = connection.nextCorrelationId();
  const body = new RequestWriter(isFlexible).tags();
  request.write(body, options);
  const pieces = framed(body.pieces, { apiKey, apiVersion, correlationId, clientId: connection.clientId });
  const { payload } = await new Promise<{ readonly payload: Buffer }>((resolve, reject) => {
    connection.requestQueue.push({
      entry: { apiKey, apiName, apiVersion, correlationId, answersWithinMs: request.answersWithinMs?.(options), resolve, reject },
      expectResponse: true,
      requestTimeout: null,
      sendRequest() {
        const { socket } = connection;
        socket.cork();
        for (const piece of pieces) socket.write(piece);
        socket.uncork();
      },
    });
  });
  const reader = new AnswerReader(payload, isFlexible);
  if (request.plainHead !== true) reader.tags();
  const answered = request.read(reader, options);
  connection.requestQueue.maybeThrottle(answered.throttleMs);
  return answered;
}

interface RequestHead {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly clientId: string;
}

function framed(body: readonly Buffer[], { apiKey, apiVersion, correlationId, clientId }: RequestHead): readonly Buffer[] {
  const headBytes = 2 + 2 + 4 + 2 + Buffer.byteLength(clientId);
  const size = body.reduce((sum, { length }) => sum + length, headBytes);
  const head = new RequestWriter(false).int32(size).int16(apiKey).int16(apiVersion).int32(correlationId).string(clientId);
  return [...head.pieces, ...body];
}
