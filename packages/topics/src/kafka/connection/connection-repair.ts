import { createRequire } from 'node:module';
import { isKnownMethod } from './known-method.ts';

/** Of the text of `connect` in kafkajs 2.2.4. */
const KNOWN_SHA256 = 'f62881754acb28b9649343a621f36c450fed94751126a6570498975fb1c48a58';

/** What the method uses of kafkajs's inner connection. */
export interface InnerConnection {
  connect(): Promise<unknown>;
  connectAsDelivered?(): Promise<unknown>;
  connecting?: Promise<unknown> | undefined;
}

/**
 * Mends the connection of kafkajs 2.2.4, which opens a second socket when it is to connect while it connects, as for the first fetches of
 * several readers, and forgets the first: that stays open, and takes the other one with it when the broker closes it for being idle.
 * Nothing is touched when the method is any other than the known one. Answers whether the connection is mended.
 */
export function repairConnection(): boolean {
  const { prototype } = createRequire(import.meta.url)('kafkajs/src/network/connection') as { readonly prototype: InnerConnection };
  const method: unknown = Reflect.get(prototype, 'connect');
  if (method === connectOnce) return true;
  if (!isKnownMethod(method, KNOWN_SHA256)) return false;
  Object.assign(prototype, { connectAsDelivered: method, connect: connectOnce });
  return true;
}

function connectOnce(this: InnerConnection): Promise<unknown> {
  this.connecting ??= this.connectAsDelivered?.().finally(() => {
    this.connecting = undefined;
  });
  return this.connecting ?? Promise.resolve();
}
