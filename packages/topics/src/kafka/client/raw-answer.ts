import type { Broker } from './broker.ts';

/** Internals of kafkajs's broker that send a request. */
interface AskableBroker extends Broker {
  /** The newest form both sides know. */
  lookupRequest(apiKey: number, definition: unknown): (options: object) => { readonly request: object; readonly response: object };
  readonly connectionPool: { send(request: object): Promise<unknown> };
}

export interface RawRequest {
  readonly apiKey: number;
  /** A request of `kafkajs/src/protocol/requests`. */
  readonly definition: unknown;
  readonly options: object;
  /** Default: as kafkajs encodes it. */
  readonly encode?: () => Promise<unknown>;
}

/** The answer to a request as it came: kafkajs's own parser throws the first error in it, and keeps to itself what that is about. */
export async function rawAnswer(broker: Broker, { apiKey, definition, options, encode }: RawRequest): Promise<unknown> {
  const askable = broker as AskableBroker;
  const { request, response } = askable.lookupRequest(apiKey, definition)(options);
  const asIs = (answer: unknown): Promise<unknown> => Promise.resolve(answer);
  return await askable.connectionPool.send({
    request: { ...request, ...(encode !== undefined && { encode }) },
    response: { ...response, parse: asIs },
  });
}
