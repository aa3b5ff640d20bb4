import type { Broker } from './broker.ts';
import { RequestWriter } from './request-writer.ts';
import { withTransactions } from './transaction-requests.ts';

/** A broker of kafkajs without a socket: it keeps each request, and answers what `answer` writes. */
export interface RecordingBroker extends Broker {
  /** The frames, each with its size before it. */
  readonly requests: readonly Buffer[];
}

export interface RecordingBrokerOptions {
  /** The newest version of every request that it knows. */
  readonly version: number;
  /** Writes the answer's body; `flexible` ones begin with their head's tagged fields. */
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
    requests,
    versions: Object.fromEntries(Array.from({ length: 100 }, (_, apiKey) => [apiKey, { maxVersion: version }])),
    lookupRequest: <T>(_: number, definition: { readonly versions: readonly number[]; protocol(chosen: { version: number }): T }): T =>
      definition.protocol({ version: Math.min(version, Math.max(...definition.versions)) }),
    connectionPool: { getConnection: () => Promise.resolve(connection) },
  };
  return withTransactions(broker as object as RecordingBroker);
}
