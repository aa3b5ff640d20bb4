import { connectionPrototype, isKnownMethod, type KafkajsConnection } from './kafkajs-internals.ts';

/** Hashes of the methods' texts in kafkajs 2.2.4. */
const KNOWN_SHA256 = {
  connect: 'f62881754acb28b9649343a621f36c450fed94751126a6570498975fb1c48a58',
  isAuthenticated: '74e87a75bbf127f1bd2c632f6df59d4127eed7c4ce8d8c08c74c7edb3468e645',
} as const;
/** Brokers take no second authentication on a connection within a second of the first (KIP-368). */
const AUTHENTICATED_FOR_MS = 1_100;

/**
 * Patches two things in the connection of kafkajs 2.2.4. It opens a second socket when it is to connect while it connects, as for the first
 * fetches of several readers, and forgets the first: that stays open, and takes the other one with it when the broker closes it for being idle.
 * And in the last seconds of a session it authenticates before each request, as long as that session can't be made longer: brokers refuse
 * that (ILLEGAL_SASL_STATE), and each refusal costs the connection.
 * A method is left alone when it is any other than the known one. Answers whether the connection is patched.
 */
export function patchConnection(): boolean {
  return [
    replace(connectionPrototype, { connect: connectOnce }, KNOWN_SHA256.connect),
    replace(connectionPrototype, { isAuthenticated: isAuthenticatedForAWhile }, KNOWN_SHA256.isAuthenticated),
  ].every(Boolean);
}

function replace(prototype: KafkajsConnection, replacement: Partial<KafkajsConnection>, sha256: string): boolean {
  return Object.entries(replacement).every(([name, patched]) => {
    const method: unknown = Reflect.get(prototype, name);
    if (method === patched) return true;
    if (!isKnownMethod(method, sha256)) return false;
    Object.assign(prototype, { [`${name}AsDelivered`]: method, [name]: patched });
    return true;
  });
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
