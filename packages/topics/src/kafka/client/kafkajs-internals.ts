import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import type { Admin, AuthenticationProviderArgs, Authenticator, Consumer, ISocketFactory } from 'kafkajs';
import { TopicLogError } from '../../topic-log-error.ts';
import type { Broker, Cluster } from './broker.ts';

/**
 * All that the driver takes from the insides of kafkajs, whose public consumers join a group for every read and whose public producer loses records.
 * No other file names a path in it.
 */
const load = createRequire(import.meta.url) as (path: string) => unknown;

/** The release that these insides are of. */
const KNOWN_VERSION = '2.2.4';

export interface BrokerPool {
  createBroker: (options: object) => Broker & { metadata(topics?: readonly string[]): Promise<unknown> };
  /** Answers null where all brokers have failed. */
  withBroker: <T>(work: (one: { readonly nodeId: string; readonly broker: Broker }) => Promise<T>) => Promise<T | null>;
}

/** Encodes primitive types of the protocol. */
interface Encoder {
  writeArray(names: readonly string[], type: 'string', length: number): Encoder;
  writeBoolean(value: boolean): Encoder;
}

/** Internals of kafkajs's connection that its patches use. */
export interface KafkajsConnection {
  connect(): Promise<unknown>;
  connectAsDelivered?(): Promise<unknown>;
  connecting?: Promise<unknown> | undefined;
  isAuthenticated(): boolean;
  isAuthenticatedAsDelivered?(): boolean;
  /** A value of `process.hrtime()`. */
  readonly authenticatedAt?: readonly [seconds: number, nanoseconds: number] | null;
}

/** Internals of kafkajs's request queue that its patch uses. */
export interface RequestQueue {
  readonly pending: readonly unknown[];
  /** Requests that were sent and are not answered, by their ids. */
  readonly inflight: ReadonlyMap<number, SentRequest>;
  readonly enforceRequestTimeout: boolean;
  readonly requestTimeout: number;
  requestTimeoutIntervalId: NodeJS.Timeout | null;
  /** Milliseconds since the epoch; -1 when never. */
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
  scheduleRequestTimeoutCheck(): void;
  isConnected(): boolean;
  /** Ends the look for overdue requests. */
  destroy(): void;
}

interface SentRequest {
  /** Milliseconds since the epoch. */
  readonly sentAt: number;
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

type Authentication = (connection: AuthenticationProviderArgs) => Authenticator;

export const BaseCluster = load('kafkajs/src/cluster') as new (options: object) => Cluster & { readonly brokerPool: BrokerPool };
export const createAdmin = load('kafkajs/src/admin') as (options: object) => Admin;
export const createConsumer = load('kafkajs/src/consumer') as (options: object) => Consumer;
export const EventEmitter = load('kafkajs/src/instrumentation/emitter') as new () => object;
export const kafkajsSockets = load('kafkajs/src/network/socketFactory') as () => ISocketFactory;
export const KafkajsEncoder = load('kafkajs/src/protocol/encoder') as new () => Encoder;
const protocolError = load('kafkajs/src/protocol/error') as { readonly createErrorFromCode: (code: number) => Error };
export const createErrorFromCode: (code: number) => Error = protocolError.createErrorFromCode;
const protocolRequests = load('kafkajs/src/protocol/requests') as { readonly requests: { readonly Metadata: unknown } };
export const requests: { readonly Metadata: unknown } = protocolRequests.requests;
const connection = load('kafkajs/src/network/connection') as { readonly prototype: KafkajsConnection };
export const connectionPrototype: KafkajsConnection = connection.prototype;
const requestQueue = load('kafkajs/src/network/requestQueue') as { readonly prototype: RequestQueue };
export const requestQueuePrototype: RequestQueue = requestQueue.prototype;

/** The authentication in that file, which takes the options of its mechanism. */
export function saslAuthenticator(file: string): (sasl: object) => Authentication {
  return load(`kafkajs/src/broker/saslAuthenticator/${file}`) as (sasl: object) => Authentication;
}

/** Throws a `TopicLogError` (HEADGATE_TOPIC_LOG_OPEN) for any other version of kafkajs than the known one. `version`: default the installed one. */
export function assertKnownKafkajs(version: string = installedVersion()): void {
  if (version === KNOWN_VERSION) return;
  const message = `kafkajs ${version} is installed, and the driver works with the insides of ${KNOWN_VERSION} alone. Install that version.`;
  throw new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_OPEN', message });
}

/** `unknown` where its package.json names none. */
function installedVersion(): string {
  const description = load('kafkajs/package.json');
  const named = typeof description === 'object' && description !== null && 'version' in description ? description.version : undefined;
  return typeof named === 'string' ? named : 'unknown';
}

/** True when the text of kafkajs's `method` has that hash. */
export function isKnownMethod(method: unknown, sha256: string): boolean {
  return typeof method === 'function' && createHash('sha256').update(method.toString()).digest('hex') === sha256;
}
