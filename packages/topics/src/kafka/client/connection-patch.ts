import { connectionPrototype, type KafkajsConnection } from './kafkajs-internals.ts';

/** Brokers take no second authentication on a connection within a second of the first (KIP-368). */
const AUTHENTICATED_FOR_MS = 1_100;

/**
 * Patches two things in the connection of kafkajs 2.2.4. It opens a second socket when it is to connect while it connects, as for the first
 * fetches of several readers, and forgets the first: that stays open, and takes the other one with it when the broker closes it for being idle.
 * And in the last seconds of a session it authenticates before each request, as long as that session can't be made longer: brokers refuse
 * that (ILLEGAL_SASL_STATE), and each refusal costs the connection.
 * To be called before the first connection, and as often as one likes.
 */
export function patchConnection(): void {
  replace(connectionPrototype, { connect: connectOnce, isAuthenticated: isAuthenticatedForAWhile });
}

function replace(prototype: KafkajsConnection, replacements: Partial<KafkajsConnection>): void {
  for (const [name, patched] of Object.entries(replacements)) {
    const method: unknown = Reflect.get(prototype, name);
    if (method !== patched) Object.assign(prototype, { [`${name}AsDelivered`]: method, [name]: patched });
  }
}

function connectOnce(this: KafkajsConnection): Promise<unknown> {
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
