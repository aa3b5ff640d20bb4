import { decodeAnswer, encodeRequest } from '../requests/frame.ts';
import type { Request } from '../requests/request.ts';
import { RequestWriter } from '../wire/request-writer.ts';
import { refusalError } from './answered-error.ts';
import { assertSupported } from './broker-connection.ts';

/** A broker without a socket. It records each request, and responds with the bytes that `answer` writes. */
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
  return {
    requests,
    async ask(request, options) {
      assertSupported(new Map([[request.key, { min: 0, max: version }]]), request);
      requests.push(Buffer.concat(encodeRequest(request, options, 'headgate')(5)));
      const body = new RequestWriter(flexible);
      answer(body);
      const answered = decodeAnswer(request, options, Buffer.concat(body.pieces));
      const refused = refusalError(answered.refusals);
      if (refused !== undefined) throw refused;
      return await Promise.resolve(answered.answer);
    },
  };
}
