import type { KafkaConfig, Logger } from 'kafkajs';
import { Backoff } from '../../backoff.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { TopicPartition } from '../../topic-log.ts';
import { findCoordinator } from '../requests/groups.ts';
import { READ_COMMITTED } from '../requests/offsets.ts';
import { type AboutPartitions, type Answered, type PartitionAnswers, type Request, type Routed } from '../requests/request.ts';
import { metadata } from '../requests/topics.ts';
import { answeredError, missingRight, oneError, refusalError, unknownTopicError } from './answered-error.ts';
import { repair } from './connection.ts';
import type { Connections } from './connections.ts';
import { kindOf, throwOfKafkajs } from './driver-errors.ts';
import { KAFKA_ERRORS } from './kafka-errors.ts';
import { BaseCluster, type KafkajsBroker, createLogger } from './kafkajs-internals.ts';
import { type Broker, sendRequest, versionsOf } from './send-request.ts';

const NO_LEADER = -1;
/** Numbers of coordinator types, as in kafkajs's COORDINATOR_TYPES. */
const COORDINATOR_TYPES = { group: 0, transaction: 1 } as const;
const PAUSES = { firstMs: 8, mostMs: 200 };
const REPEATED_FOR_MS = 2_000;

interface ConnectionOptions {
  /** Repairs and watches all connections. Default: connections are only repaired (`repair`). */
  readonly connections?: Connections;
}

export type ClusterConfig = KafkaConfig & ConnectionOptions;

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** Sends the request to this broker, without repeating it. Default: to the brokers that the request's `to` selects. */
  readonly broker?: Broker | undefined;
}

/**
 * The metadata lists no broker. This happens when the controller hasn't heard from the brokers for a moment and considers them gone. kafkajs
 * repeats a metadata request that fails with this `type`, but would believe an empty list.
 */
class NoBrokerReadyError extends Error {
  override readonly name = 'NoBrokerReadyError';
  readonly type = 'LEADER_NOT_AVAILABLE';
  readonly code = KAFKA_ERRORS.LEADER_NOT_AVAILABLE.code;

  constructor() {
    super('no broker is ready: the cluster metadata lists none');
  }
}

/**
 * kafkajs's cluster class, which also sends the driver's requests (`ask`). It changes kafkajs's own requests, too:
 *
 * - Without topics, it requests metadata of no topic instead of all topics.
 * - A partition without a leader fails only the callers that need that partition. In kafkajs, it fails the metadata of all topics.
 * - It rejects metadata that lists no broker.
 * - It fetches the metadata of every target topic. kafkajs can take a refresh in flight, which doesn't ask for a new topic, for that topic's metadata.
 *   The topic would then seem to have no partitions.
 * - The error for a missing right names the resource.
 * - If no broker can name a coordinator, it throws the reason, which kafkajs drops.
 */
export class Cluster extends BaseCluster {
  /** Coordinators by kind and name, such as `group orders`. A failed request removes its coordinator. */
  readonly #coordinators = new Map<string, Broker>();

  constructor(options: ConnectionOptions) {
    super(options);
    const { brokerPool, connectionPoolBuilder } = this;
    const build = connectionPoolBuilder.build.bind(connectionPoolBuilder);
    connectionPoolBuilder.build = async (address) => {
      const pool = await build(address);
      pool.map((connection) => (options.connections === undefined ? repair(connection) : options.connections.own(connection)));
      return pool;
    };
    for (const method of ['connect', 'refreshMetadata', 'findBroker', 'findConnectedBroker'] as const) {
      const original = brokerPool[method].bind(brokerPool) as (...options: unknown[]) => Promise<unknown>;
      const marked = (...options: unknown[]): Promise<unknown> => original(...options).catch(throwOfKafkajs);
      Object.assign(brokerPool, { [method]: marked });
    }
    const { createBroker } = brokerPool;
    brokerPool.createBroker = (brokerOptions) => this.#own(createBroker(brokerOptions));
    const withBroker = brokerPool.withBroker.bind(brokerPool);
    brokerPool.withBroker = async (work) => {
      let failure: unknown;
      const answer = await withBroker((one) =>
        work(one).catch((error: unknown) => {
          failure = error;
          throw error;
        }),
      );
      if (answer === null && failure !== undefined) throw failure;
      return answer;
    };
  }

  /**
   * Sends a request to the broker that answers it, or its parts to several leaders at once. If all errors are known to pass soon (`kafka-errors.ts`),
   * it repeats the request for about 2 s, with fresh metadata if needed. Repeated requests to leaders contain only the partitions that no leader has
   * accepted yet. Throws a `MissingRightError` if this user lacks a right.
   */
  async ask<Options, Answer>(request: Request<Options, Answer>, options: Options, { signal, broker }: AskOptions = {}): Promise<Answer> {
    if (broker !== undefined) return await this.#send(broker, request, options);
    const deadline = performance.now() + REPEATED_FOR_MS;
    const accepted = new Map<string, unknown>();
    for (const backoff = new Backoff(PAUSES); ;) {
      try {
        if (request.to !== 'leader') return await this.#send(await this.#brokerFor(request, options), request, options);
        // Every request to leaders has options and a response of these types.
        await this.#askLeaders(request as Request<never, PartitionAnswers<unknown>>, options as AboutPartitions, accepted);
        return accepted as Answer;
      } catch (error) {
        const coordinator = coordinatorOf(request, options);
        if (coordinator !== undefined) this.#coordinators.delete(coordinator.key);
        const remedy = remedyOf(error);
        if (remedy === undefined || performance.now() >= deadline) throw error;
        await backoff.pause(signal);
        // Ignore an error of the refresh. If the problem lasts, the repeated request fails, too.
        if (remedy === 'elsewhere') await this.refreshMetadata().catch(() => undefined);
      }
    }
  }

  /** Sends one of the driver's own requests once. Tests override this method to answer requests without brokers. */
  async exchange<Options, Answer>(broker: Broker, request: Request<Options, Answer>, options: Options): Promise<Answered<Answer>> {
    return await sendRequest(broker, request, options);
  }

  override async addMultipleTargetTopics(topics: readonly string[]): Promise<void> {
    await super.addMultipleTargetTopics(topics);
    if (topics.some((topic) => this.findTopicPartitionMetadata(topic).length === 0)) await this.refreshMetadata();
  }

  override findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>> {
    const byLeader = super.findLeaderForPartitions(topic, partitions);
    if (String(NO_LEADER) in byLeader) throw answeredError(KAFKA_ERRORS.LEADER_NOT_AVAILABLE.code, { topic });
    return byLeader;
  }

  async #askLeaders(
    request: Request<never, PartitionAnswers<unknown>>,
    options: AboutPartitions,
    accepted: Map<string, unknown>,
  ): Promise<void> {
    const left = options.topicPartitions.filter((place) => !accepted.has(partitionKey(place)));
    await this.addMultipleTargetTopics(left.map(({ topic }) => topic));
    const sending = Array.from(
      Map.groupBy(left, (place) => this.#leaderOf(place)),
      async ([nodeId, topicPartitions]) => {
        const leader = await this.findBroker({ nodeId });
        const keep = (answer: PartitionAnswers<unknown>): void => {
          for (const [key, value] of answer) accepted.set(key, value);
        };
        await this.#send(leader, request, { ...options, topicPartitions } as never, keep);
      },
    );
    // Wait for all leaders even after an error, so that a later request can't overtake one that is still in flight.
    const errors = (await Promise.allSettled(sending)).flatMap((sent) => (sent.status === 'rejected' ? [sent.reason as Error] : []));
    const error = oneError(errors);
    if (error !== undefined) throw error;
  }

  /** Sends a request, and throws if the broker refuses any part of it. `keep` gets the response even then. */
  async #send<Options, Answer>(
    broker: Broker,
    request: Request<Options, Answer>,
    options: Options,
    keep?: (answer: Answer) => void,
  ): Promise<Answer> {
    try {
      const { answer, refusals } = await this.exchange(broker, request, options);
      keep?.(answer);
      const refused = refusalError(refusals);
      if (refused !== undefined) throw refused;
      return answer;
    } catch (error) {
      throw missingRight(error, request.needs(options)) ?? error;
    }
  }

  async #brokerFor<Options>({ to }: Routed<Options>, options: Options): Promise<Broker> {
    if (to === 'controller') {
      await this.refreshMetadata();
      return await this.findControllerBroker();
    }
    const coordinator = coordinatorOf({ to }, options);
    if (coordinator === undefined) return await this.brokerPool.findConnectedBroker();
    const { key, of, name } = coordinator;
    const known = this.#coordinators.get(key);
    if (known !== undefined) return known;
    if (this.brokerPool.metadata === null) await this.refreshMetadata();
    const found = await this.findGroupCoordinator({ groupId: name, coordinatorType: COORDINATOR_TYPES[of] });
    this.#coordinators.set(key, found);
    return found;
  }

  #leaderOf({ topic, partition }: TopicPartition): string {
    const [nodeId] = Object.keys(this.findLeaderForPartitions(topic, [partition]));
    if (nodeId === undefined) throw unknownTopicError(topic);
    return nodeId;
  }

  /**
   * Replaces a kafkajs broker's requests for metadata and coordinators with the driver's. If the broker accepts a connection but doesn't respond,
   * `connect` fails; kafkajs's second attempt would succeed, so that kafkajs would stay with that broker.
   */
  #own(broker: KafkajsBroker): KafkajsBroker {
    const connect = broker.connect.bind(broker);
    broker.connect = async () => {
      await connect();
      versionsOf(broker);
    };
    broker.metadata = async (topics = []) => {
      const answer = await this.#send(broker, metadata, { topics });
      if (answer.brokers.length === 0) throw new NoBrokerReadyError();
      const refused = answer.topicMetadata.filter(({ topicErrorCode }) => topicErrorCode !== 0);
      const [first] = refused;
      if (first === undefined) return answer;
      const error = answeredError(first.topicErrorCode);
      throw missingRight(error, metadata.needs({ topics: refused.map(({ topic }) => topic) })) ?? error;
    };
    broker.findGroupCoordinator = async ({ groupId, coordinatorType = COORDINATOR_TYPES.group }) => {
      const of = coordinatorType === COORDINATOR_TYPES.group ? 'group' : 'transaction';
      const coordinator = await this.#send(broker, findCoordinator, { of, name: groupId });
      return { coordinator, host: coordinator.host };
    };
    return broker;
  }
}

function coordinatorOf({ to }: Pick<Routed<never>, 'to'>, options: unknown) {
  if (to !== 'group coordinator' && to !== 'transaction coordinator') return undefined;
  const { groupId = '', transactionalId = '' } = options as { readonly groupId?: string; readonly transactionalId?: string };
  const [of, name] = to === 'group coordinator' ? (['group', groupId] as const) : (['transaction', transactionalId] as const);
  return { key: `${of} ${name}`, of, name };
}

/** How to repeat a refused request that may soon succeed: with fresh metadata, or just later. Undefined if repeating it wouldn't help. */
function remedyOf(error: unknown): 'elsewhere' | 'again' | undefined {
  if (error instanceof AggregateError) {
    const remedies = new Set(error.errors.map(remedyOf));
    if (remedies.has(undefined)) return undefined;
    return remedies.has('elsewhere') ? 'elsewhere' : 'again';
  }
  const kind = error instanceof Error ? kindOf(error) : undefined;
  if (kind === 'elsewhere') return kind;
  // An error about one topic leaves open what happened to the other topics of the request.
  return kind === 'again' && !('topic' in (error as Error)) ? kind : undefined;
}

export function newCluster(config: ClusterConfig): Cluster {
  return new Cluster(clusterOptions(config));
}

/** Adds to `config` the settings that all of the driver's cluster objects share. */
export function clusterOptions(config: ClusterConfig): ConnectionOptions {
  const options = {
    connectionTimeout: 1_000,
    ...config,
    // Requests are timed out by the driver's watchdogs (`watchdog.ts`), not by kafkajs.
    enforceRequestTimeout: false,
    logger: silentLogger(),
    metadataMaxAge: 30_000,
    allowAutoTopicCreation: false,
    maxInFlightRequests: null,
    isolationLevel: READ_COMMITTED,
  };
  return options;
}

/** Returns a logger that writes nothing, because errors and `onAvailability` report what concerns the user. */
function silentLogger(): Logger {
  return createLogger({ level: 0, logCreator: () => () => undefined });
}
