import { AnswerReader } from '../wire/answer-reader.ts';
import { RequestWriter } from '../wire/request-writer.ts';
import type { Answered, Request } from './request.ts';

/**
 * Encodes a request. The returned function puts the size and the header in front. The pieces are the request's own, without a copy, so that they must
 * not change until it is answered.
 */
export function encodeRequest<Options>(
  request: Request<Options, unknown>,
  options: Options,
  clientId: string,
): (correlationId: number) => readonly Buffer[] {
  const { key, version, isFlexible = false } = request;
  const body = new RequestWriter(isFlexible).tags();
  request.write(body, options);
  const { pieces } = body;
  const headBytes = 2 + 2 + 4 + 2 + Buffer.byteLength(clientId);
  const size = pieces.reduce((sum, { length }) => sum + length, headBytes);
  return (correlationId) => {
    const head = new RequestWriter(false).int32(size).int16(key).int16(version).int32(correlationId).string(clientId);
    return [...head.pieces, ...pieces];
  };
}

/** Decodes the response to a request, without its size and its correlation ID. */
export function decodeAnswer<Options, Answer>(request: Request<Options, Answer>, options: Options, bytes: Buffer): Answered<Answer> {
  const { isFlexible = false, plainHead = false } = request;
  const reader = new AnswerReader(bytes, isFlexible);
  if (!plainHead) reader.tags();
  return request.read(reader, options);
}
