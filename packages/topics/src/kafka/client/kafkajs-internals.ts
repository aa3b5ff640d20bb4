// Internals of kafkajs that the driver uses, because kafkajs's public consumers join a group for every read. No other source file imports a file
// inside kafkajs. kafkajs's index would also load its producer, and bundlers can follow these static imports.
import type { Socket } from 'node:net';
import type * as kafkajs from 'kafkajs';
import description from 'kafkajs/package.json' with { type: 'json' };
import awsIam from 'kafkajs/src/broker/saslAuthenticator/awsIam.js';
import plain from 'kafkajs/src/broker/saslAuthenticator/plain.js';
import scram256 from 'kafkajs/src/broker/saslAuthenticator/scram256.js';
import scram512 from 'kafkajs/src/broker/saslAuthenticator/scram512.js';
import cluster from 'kafkajs/src/cluster/index.js';
import errors from 'kafkajs/src/errors.js';
import loggers from 'kafkajs/src/loggers/index.js';
import socketFactory from 'kafkajs/src/network/socketFactory.js';
import protocolError from 'kafkajs/src/protocol/error.js';
import { TopicLogError } from '../../topic-log-error.ts';
import type { Metadata } from '../requests/topics.ts';
import type { Broker } from './send-request.ts';

export type { AuthenticationProviderArgs, Authenticator, Kafka, KafkaConfig } from 'kafkajs';

const KNOWN_VERSION = '2.2.4';

export interface KafkajsBroker extends Broker {
  connect(): Promise<void>;
  metadata(topics?: readonly string[]): Promise<Metadata>;
  findGroupCoordinator(options: CoordinatorOptions): Promise<{ readonly coordinator: { readonly nodeId: number }; readonly host: string }>;
}

interface CoordinatorOptions {
  readonly groupId: string;
  readonly coordinatorType?: number;
}

/**
 * Internals of kafkajs's cluster, which read a partition without a group. kafkajs's public consumers always join one, which costs every read a
 * rebalance (3 s with a broker's default settings) and leaves groups on the brokers.
 */
interface KafkajsCluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  isConnected(): boolean;
  refreshMetadata(): Promise<void>;
  getNodeIds(): readonly string[];
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number; readonly leader: number }[];
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>>;
  findBroker(options: { readonly nodeId: string | number }): Promise<Broker>;
  findControllerBroker(): Promise<Broker>;
  findGroupCoordinator(options: CoordinatorOptions): Promise<Broker>;
  readonly connectionPoolBuilder: { build(address?: object): Promise<{ map(each: (connection: KafkajsConnection) => void): void }> };
  readonly brokerPool: {
    createBroker: (options: object) => KafkajsBroker;
    /** Returns null if all brokers have failed. */
    withBroker: <T>(work: (one: { readonly nodeId: string; readonly broker: Broker }) => Promise<T>) => Promise<T | null>;
    connect(): Promise<void>;
    refreshMetadata(topics: readonly string[]): Promise<void>;
    findBroker(options: { readonly nodeId: string | number }): Promise<Broker>;
    findConnectedBroker(): Promise<Broker>;
    readonly brokers: Readonly<Record<string, Broker>>;
    /** Lists each broker with its advertised address. */
    readonly metadata: Pick<Metadata, 'brokers'> | null;
  };
}

export interface KafkajsConnection {
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
  isConnected(): boolean;
  isAuthenticated(): boolean;
  processData(data: Buffer): void;
  socketFactory: kafkajs.ISocketFactory;
  readonly socket?: Socket;
  /** Set while the connection authenticates. A response can then be empty. */
  readonly authHandlers?: object | null;
  /** Received bytes that don't complete a response yet. */
  chunks: Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
  /** Time of the last authentication, from `process.hrtime()`. */
  readonly authenticatedAt?: readonly [seconds: number, nanoseconds: number] | null;
  readonly requestQueue: RequestQueue;
}

export interface RequestQueue {
  readonly pending: readonly unknown[];
  /** Requests in flight, by ID, in the order of sending. */
  readonly inflight: ReadonlyMap<number, SentRequest>;
  /** Milliseconds since the epoch; -1 for never. */
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

export interface SentRequest {
  readonly entry: { readonly apiKey: number; readonly answersWithinMs?: number | undefined };
  /** Time after which the request fails, ms. */
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

type Authenticate = (sasl: object) => (connection: kafkajs.AuthenticationProviderArgs) => kafkajs.Authenticator;

export const BaseCluster = cluster as new (options: object) => KafkajsCluster;
export const kafkajsSockets = socketFactory as () => kafkajs.ISocketFactory;

type CreateLogger = (options: { readonly level: number; readonly logCreator: () => () => void }) => kafkajs.Logger;
export const createLogger: CreateLogger = (loggers as { readonly createLogger: CreateLogger }).createLogger;

type ErrorFromCode = (code: number) => Error;
export const createErrorFromCode: ErrorFromCode = (protocolError as { readonly createErrorFromCode: ErrorFromCode }).createErrorFromCode;

type Errors = Pick<typeof kafkajs, 'KafkaJSConnectionError'>;
export const KafkaJSConnectionError: Errors['KafkaJSConnectionError'] = (errors as Errors).KafkaJSConnectionError;

export const authenticators = { plain, scram256, scram512, awsIam } as Readonly<
  Record<'plain' | 'scram256' | 'scram512' | 'awsIam', Authenticate>
>;

/** Throws a `TopicLogError` (HEADGATE_TOPIC_LOG_OPEN) if kafkajs isn't of the known version. `version`: default the installed one. */
export function assertKnownKafkajs(version: string = description.version): void {
  if (version === KNOWN_VERSION) return;
  const message = `kafkajs ${version} is installed, but the driver depends on the internals of ${KNOWN_VERSION}. Install that version.`;
  throw new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_OPEN', message });
}
