import type { Socket } from 'node:net';
import type { Broker } from './broker.ts';
import { AnswerReader } from './answer-reader.ts';
import { newerError } from './kafka-errors.ts';
import { createErrorFromCode } from './kafkajs-internals.ts';
import { RequestWriter } from './request-writer.ts';

/** A request that is encoded here, in the newest of `versions` that the broker knows. */
export interface Request<Answer> {
  /** As the protocol names it. */
  readonly apiName: string;
  readonly apiKey: number;
  readonly versions: readonly number[];
  /** The first version with compact lengths and tagged fields. */
  readonly flexibleFrom: number;
  /** The head of a flexible answer has no tagged fields. Default false. */
  readonly plainHead?: boolean;
  readonly write: (body: RequestWriter, version: number) => void;
  readonly read: (answer: AnswerReader, version: number) => Answer;
}

/** The field that the answers to all of these requests have. */
export interface Throttled {
  /** The broker takes no further request for so long. */
  readonly throttleMs: number;
}

/** Internals of kafkajs 2.2.4 between a broker and its socket. */
interface AskableBroker extends Broker {
  /** By the number of a request. */
  readonly versions?: Readonly<Record<number, { readonly maxVersion: number }>> | null;
  /** Throws where the broker doesn't know the request at all. */
  lookupRequest<T>(
    apiKey: number,
    definition: { readonly versions: readonly number[]; readonly protocol: (chosen: { readonly version: number }) => T },
  ): T;
  readonly connectionPool: Broker['connectionPool'] & { getConnection(): Promise<Connection> };
}

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

/** The error that a broker has answered by its number, as kafkajs throws it. */
export function answeredError(code: number, about: { readonly topic?: string } = {}): Error {
  return Object.assign(createErrorFromCode(code), newerError(code), { code }, about);
}

/** The errors of an answer as one; undefined where there are none. */
export function oneError(errors: readonly Error[]): Error | undefined {
  return errors.length > 1 ? new AggregateError(errors, errors.map(({ message }) => message).join('; ')) : errors[0];
}

/** True when the broker, to which a connection was made, knows that version of a request, or a newer one. */
export function knows(broker: Broker, apiKey: number, version = 0): boolean {
  return ((broker as AskableBroker).versions?.[apiKey]?.maxVersion ?? -1) >= version;
}

/**
 * Sends a request on kafkajs's connection, in its queue, within its time limit. The bytes of the request go to the socket as they are;
 * kafkajs's own encoder copies them twice.
 */
export async function ask<Answer extends Throttled>(broker: Broker, request: Request<Answer>): Promise<Answer> {
  const { apiKey, apiName, flexibleFrom } = request;
  const askable = broker as AskableBroker;
  const apiVersion = askable.lookupRequest(apiKey, { versions: request.versions, protocol: ({ version }) => version });
  const connection = await askable.connectionPool.getConnection();
  if (!connection.isAuthenticated()) await connection.authenticate();
  connection.failIfNotConnected();
  const isFlexible = apiVersion >= flexibleFrom;
  const correlationId = connection.nextCorrelationId();
  const body = new RequestWriter(isFlexible).tags();
  request.write(body, apiVersion);
  const pieces = framed(body.pieces, { apiKey, apiVersion, correlationId, clientId: connection.clientId });
  const { payload } = await new Promise<{ readonly payload: Buffer }>((resolve, reject) => {
    connection.requestQueue.push({
      entry: { apiKey, apiName, apiVersion, correlationId, resolve, reject },
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
  const answer = request.read(reader, apiVersion);
  connection.requestQueue.maybeThrottle(answer.throttleMs);
  return answer;
}

interface RequestHead {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly clientId: string;
}

/** With the request's size and head before it. */
function framed(body: readonly Buffer[], { apiKey, apiVersion, correlationId, clientId }: RequestHead): readonly Buffer[] {
  const headBytes = 2 + 2 + 4 + 2 + Buffer.byteLength(clientId);
  const size = body.reduce((sum, { length }) => sum + length, headBytes);
  const head = new RequestWriter(false).int32(size).int16(apiKey).int16(apiVersion).int32(correlationId).string(clientId);
  return [...head.pieces, ...body];
}
