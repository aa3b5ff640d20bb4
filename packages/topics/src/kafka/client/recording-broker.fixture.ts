import type { Request } from '../requests/request.ts';
import { RequestWriter } from '../wire/request-writer.ts';
import { refusalError } from './answered-error.ts';
import { type Broker, sendRequest } from './send-request.ts';

/** A kafkajs broker without a socket. It records each request, and responds with the bytes that `answer` writes. */
export interface RecordingBroker {
  /** The recorded requests, each preceded by its size. */
  readonly requests: readonly Buffer[];
  ask<Options, Answer>(request: Request<Options, Answer>, options: Options): Promise<Answer>;
}

export interface RecordingBrokerOptions {
  /** The newest version that the broker supports, the same for all requests. */
  readonly version: number;
  /** Writes the response's body. A flexible body begins with the tagged fields of the response header. */
  readonly answer: (body: RequestWriter) => void;
  readonly flexible?: boolean;
}

export function recordingBroker({ version, answer, flexible = false }: RecordingBrokerOptions): RecordingBroker {
  const requests: Buffer[] = [];
  const written: Buffer[] = [];
  const connection = {
    clientId: 'headgate',
    isAuthenticated: () => true,
    failIfNotConnected: () => undefined,
    nextCorrelationId: () => 5,
    socket: {
      cork: () => undefined,
      write: (piece: Buffer) => written.push(piece),
      uncork: () => requests.push(Buffer.concat(written.splice(0))),
    },
    requestQueue: {
      maybeThrottle: () => undefined,
      push(request: { readonly entry: { resolve(answer: object): void }; sendRequest(): void }) {
        request.sendRequest();
        const body = new RequestWriter(flexible);
        answer(body);
        request.entry.resolve({ payload: Buffer.concat(body.pieces) });
      },
    },
  };
  const broker = {
    versions: Object.fromEntries(Array.from({ length: 100 }, (_, apiKey) => [apiKey, { maxVersion: version }])),
    connectionPool: { getConnection: () => Promise.resolve(connection) },
  } as object as Broker;
  return {
    requests,
    async ask(request, options) {
      const answered = await sendRequest(broker, request, options);
      const refused = refusalError(answered.refusals);
      if (refused !== undefined) throw refused;
      return answered.answer;
    },
  };
}
