// All that the driver takes from kafkajs, whose public consumers join a group for every read and whose public producer loses records. No other
// file names a path in it. Its index would load the producer, too, and paths that are known beforehand let bundlers take it in.
import type { Socket } from 'node:net';
import type * as kafkajs from 'kafkajs';
import description from 'kafkajs/package.json' with { type: 'json' };
import admin from 'kafkajs/src/admin/index.js';
import awsIam from 'kafkajs/src/broker/saslAuthenticator/awsIam.js';
import plain from 'kafkajs/src/broker/saslAuthenticator/plain.js';
import scram256 from 'kafkajs/src/broker/saslAuthenticator/scram256.js';
import scram512 from 'kafkajs/src/broker/saslAuthenticator/scram512.js';
import cluster from 'kafkajs/src/cluster/index.js';
import assignerProtocol from 'kafkajs/src/consumer/assignerProtocol.js';
import consumer from 'kafkajs/src/consumer/index.js';
import errors from 'kafkajs/src/errors.js';
import emitter from 'kafkajs/src/instrumentation/emitter.js';
import loggers from 'kafkajs/src/loggers/index.js';
import connection from 'kafkajs/src/network/connection.js';
import requestQueue from 'kafkajs/src/network/requestQueue/index.js';
import socketFactory from 'kafkajs/src/network/socketFactory.js';
import configResourceTypes from 'kafkajs/src/protocol/configResourceTypes.js';
import encoder from 'kafkajs/src/protocol/encoder.js';
import protocolError from 'kafkajs/src/protocol/error.js';
import compression from 'kafkajs/src/protocol/message/compression/index.js';
import protocolRequests from 'kafkajs/src/protocol/requests/index.js';
import { TopicLogError } from '../../topic-log-error.ts';
import type { Broker, Cluster } from './broker.ts';

export type {
  Admin,
  Assignment,
  AuthenticationProviderArgs,
  Authenticator,
  Consumer,
  ConsumerConfig,
  GroupDescription,
  Kafka,
  KafkaConfig,
  PartitionAssigner,
} from 'kafkajs';

export type CompressionType = kafkajs.CompressionTypes;

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
  isConnected(): boolean;
  readonly socket?: Socket;
  /** While it authenticates: an answer may be empty then. */
  readonly authHandlers?: object | null;
  /** Bytes that no answer has been made of yet. */
  chunks: Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
  processData(data: Buffer): void;
  processDataAsDelivered?(data: Buffer): void;
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

export interface SentRequest {
  /** Milliseconds. */
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

type Authenticate = (sasl: object) => (connection: kafkajs.AuthenticationProviderArgs) => kafkajs.Authenticator;

export const BaseCluster = cluster as new (options: object) => Cluster & { readonly brokerPool: BrokerPool };
export const createAdmin = admin as (options: object) => kafkajs.Admin;
export const createConsumer = consumer as (options: object) => kafkajs.Consumer;
export const EventEmitter = emitter as new () => object;
export const kafkajsSockets = socketFactory as () => kafkajs.ISocketFactory;
export const KafkajsEncoder = encoder as new () => Encoder;
export const AssignerProtocol = assignerProtocol as typeof kafkajs.AssignerProtocol;
export const ConfigResourceTypes = configResourceTypes as typeof kafkajs.ConfigResourceTypes;

type CreateLogger = (options: { readonly level: number; readonly logCreator: () => () => void }) => kafkajs.Logger;
export const createLogger: CreateLogger = (loggers as { readonly createLogger: CreateLogger }).createLogger;

type ErrorFromCode = (code: number) => Error;
export const createErrorFromCode: ErrorFromCode = (protocolError as { readonly createErrorFromCode: ErrorFromCode }).createErrorFromCode;

interface Requests {
  readonly Metadata: unknown;
}
export const requests: Requests = (protocolRequests as { readonly requests: Requests }).requests;

export const connectionPrototype: KafkajsConnection = (connection as { readonly prototype: KafkajsConnection }).prototype;
export const requestQueuePrototype: RequestQueue = (requestQueue as { readonly prototype: RequestQueue }).prototype;

const { Types, Codecs } = compression as {
  readonly Types: typeof kafkajs.CompressionTypes;
  readonly Codecs: typeof kafkajs.CompressionCodecs;
};
export const CompressionTypes: typeof kafkajs.CompressionTypes = Types;
export const CompressionCodecs: typeof kafkajs.CompressionCodecs = Codecs;

type Errors = Pick<typeof kafkajs, 'KafkaJSNotImplemented'>;
export const KafkaJSNotImplemented: Errors['KafkaJSNotImplemented'] = (errors as Errors).KafkaJSNotImplemented;

/** By what they do: `plain`, SCRAM, and the `AWS` of kafkajs. */
export const authenticators = { plain, scram256, scram512, awsIam } as Readonly<
  Record<'plain' | 'scram256' | 'scram512' | 'awsIam', Authenticate>
>;

/** Throws a `TopicLogError` (HEADGATE_TOPIC_LOG_OPEN) for any other version of kafkajs than the known one. `version`: default the installed one. */
export function assertKnownKafkajs(version: string = description.version): void {
  if (version === KNOWN_VERSION) return;
  const message = `kafkajs ${version} is installed, and the driver works with the insides of ${KNOWN_VERSION} alone. Install that version.`;
  throw new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_OPEN', message });
}
