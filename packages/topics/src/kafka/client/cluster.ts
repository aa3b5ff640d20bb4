import type { Consumer, ConsumerConfig, KafkaConfig, Logger } from 'kafkajs';
import { Backoff } from '../../backoff.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { TopicPartition } from '../../topic-log.ts';
import { findCoordinator } from '../requests/groups.ts';
import { READ_COMMITTED } from '../requests/offsets.ts';
import { type AboutPartitions, type Answered, type PartitionAnswers, type Request, type Routed, rights } from '../requests/request.ts';
import { metadata } from '../requests/topics.ts';
import { answeredError, missingRight, oneError, refusalError, unknownTopicError } from './answered-error.ts';
import { repair } from './connection.ts';
import type { Connections } from './connections.ts';
import { kindOf, ofKafkajs } from './driver-errors.ts';
import { BaseCluster, EventEmitter, type KafkajsBroker, createConsumer, createLogger } from './kafkajs-internals.ts';
import { type Broker, sendRequest } from './send-request.ts';

const LEADER_NOT_AVAILABLE = 5;
const NO_LEADER = -1;
/** kafkajs's COORDINATOR_TYPES. */
const COORDINATOR_TYPES = { group: 0, transaction: 1 } as const;
const PAUSES = { firstMs: 8, mostMs: 200 };
const REPEATED_FOR_MS = 2_000;

/** A request that kafkajs encodes, or whose response it decodes. */
export interface KafkajsRequest<Options, Answer> extends Routed<Options> {
  /** Throws what the broker refuses. */
  send(broker: KafkajsBroker, options: Options): Promise<Answer>;
}

export type AnyRequest<Options, Answer> = Request<Options, Answer> | KafkajsRequest<Options, Answer>;

interface ConnectionOptions {
  /** Watches all connections. Default: they are only repaired. */
  readonly connections?: Connections;
  readonly onJoining?: OnJoining | undefined;
}

/** Called before a member sends a request to join the group under its ID. A newcomer sends one before, which only asks for an ID. */
export type OnJoining = (memberId: string) => void;

export type ClusterConfig = KafkaConfig & ConnectionOptions;

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** Gets the request once, instead of the brokers in `to`. */
  readonly broker?: Broker | undefined;
}

/**
 * A controller that hears nothing from its brokers for a moment believes they are gone, and they pass that on to their clients. kafkajs
 * repeats a metadata request that fails with this type; an empty list would make it believe that there are no brokers.
 */
class NoBrokerReadyError extends Error {
  override readonly name = 'NoBrokerReadyError';
  readonly type = 'LEADER_NOT_AVAILABLE';

  constructor() {
    super('no broker is ready: the cluster metadata lists none');
  }
}

/**
 * kafkajs's own cluster, which sends the driver's requests (`ask`), with five changes. Without topics it requests metadata of none. A
 * partition without a leader stops no one but those who need it; kafkajs takes the metadata of none of the topics then. A response that
 * lists no broker isn't taken. A refusal names the refused resource. If no broker knows the coordinator, it throws the reason, which
 * kafkajs drops.
 */
export class Cluster extends BaseCluster {
  readonly #onJoining: OnJoining | undefined;
  /** Coordinators by kind and name, such as `group orders`. A failed request removes its coordinator. */
  readonly #coordinators = new Map<string, Broker>();

  constructor(options: ConnectionOptions) {
    super(options);
    this.#onJoining = options.onJoining;
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
   * Sends a request to the broker that answers it, or its parts to several leaders at once. For 2 s it repeats the request if all refusals
   * are errors that pass soon, with fresh metadata where needed (`kafka-errors.ts`). Leaders get only those partitions again that they
   * haven't accepted. Throws other refusals, each with the topic it is about, or as a `MissingRightError`.
   */
  async ask<Options, Answer>(request: AnyRequest<Options, Answer>, options: Options, { signal, broker }: AskOptions = {}): Promise<Answer> {
    if (broker !== undefined) return await this.#send(broker, request, options);
    const deadline = performance.now() + REPEATED_FOR_MS;
    const accepted = new Map<string, unknown>();
    for (const backoff = new Backoff(PAUSES); ;) {
      try {
        if (request.to !== 'leader') return await this.#send(await this.#brokerFor(request, options), request, options);
        // The options and response of a request to a leader have this shape.
        await this.#askLeaders(request as AnyRequest<never, PartitionAnswers<unknown>>, options as AboutPartitions, accepted);
        return accepted as Answer;
      } catch (error) {
        const coordinator = coordinatorOf(request, options);
        if (coordinator !== undefined) this.#coordinators.delete(coordinator.key);
        const remedy = remedyOf(error);
        if (remedy === undefined || performance.now() >= deadline) throw error;
        await backoff.pause(signal);
        // An error of the refresh is ignored, because the repeated request meets the same problem.
        if (remedy === 'refresh') await this.refreshMetadata().catch(() => undefined);
      }
    }
  }

  /** Sends one of the driver's requests once. All of them pass through here. */
  async exchange<Options, Answer>(broker: Broker, request: Request<Options, Answer>, options: Options): Promise<Answered<Answer>> {
    return await sendRequest(broker, request, options);
  }

  override findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>> {
    const byLeader = super.findLeaderForPartitions(topic, partitions);
    if (String(NO_LEADER) in byLeader) throw answeredError(LEADER_NOT_AVAILABLE, { topic });
    return byLeader;
  }

  async #askLeaders(
    request: AnyRequest<never, PartitionAnswers<unknown>>,
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

  /** Sends a request, and throws what the broker refuses. `keep` gets the response even if part of it is refused. */
  async #send<Options, Answer>(
    broker: Broker,
    request: AnyRequest<Options, Answer>,
    options: Options,
    keep?: (answer: Answer) => void,
  ): Promise<Answer> {
    try {
      const { answer, refusals } =
        'send' in request
          ? { answer: await request.send(broker as KafkajsBroker, options).catch(throwOfKafkajs), refusals: [] }
          : await this.exchange(broker, request, options);
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

  /** Replaces kafkajs's requests for metadata and coordinators by the driver's. Errors of its group requests name the refused right. */
  #own(broker: KafkajsBroker): KafkajsBroker {
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
    // kafkajs sends both requests of a newcomer within one call: the second has the ID from the response to the first.
    const { joinGroup } = broker;
    broker.joinGroup = async (options) => {
      const lookupRequest: KafkajsBroker['lookupRequest'] = (...request) => {
        const encoded = broker.lookupRequest(...request);
        return (fields) => {
          if (fields.memberId !== undefined && fields.memberId !== '') this.#onJoining?.(fields.memberId);
          return encoded(fields);
        };
      };
      return await joinGroup.call(Object.create(broker, { lookupRequest: { value: lookupRequest } }), options);
    };
    for (const method of ['joinGroup', 'syncGroup', 'heartbeat', 'leaveGroup', 'describeGroups'] as const) {
      const original = broker[method].bind(broker);
      broker[method] = async (options) => {
        try {
          return await original(options).catch(throwOfKafkajs);
        } catch (error) {
          const { groupId = '', groupIds = [groupId] } = options;
          throw missingRight(error, rights('group', [method === 'describeGroups' ? 'Describe' : 'Read'], groupIds)) ?? error;
        }
      };
    }
    return broker;
  }
}

function throwOfKafkajs(error: unknown): never {
  throw ofKafkajs(error);
}

/** The coordinator that a request is for; undefined if it is for another broker. */
function coordinatorOf({ to }: Pick<Routed<never>, 'to'>, options: unknown) {
  if (to !== 'group coordinator' && to !== 'transaction coordinator') return undefined;
  const { groupId = '', transactionalId = '' } = options as { readonly groupId?: string; readonly transactionalId?: string };
  const [of, name] = to === 'group coordinator' ? (['group', groupId] as const) : (['transaction', transactionalId] as const);
  return { key: `${of} ${name}`, of, name };
}

/** How to repeat a refused request that may succeed within a moment: with fresh metadata, or just later. Undefined if it can't. */
function remedyOf(error: unknown): 'refresh' | 'time' | undefined {
  if (error instanceof AggregateError) {
    const remedies = new Set(error.errors.map(remedyOf));
    if (remedies.has(undefined)) return undefined;
    return remedies.has('refresh') ? 'refresh' : 'time';
  }
  const kind = error instanceof Error ? kindOf(error) : undefined;
  if (kind === 'refresh') return 'refresh';
  // An error about one topic doesn't tell what happened to the others.
  return kind === 'retry' && !('topic' in (error as Error)) ? 'time' : undefined;
}

/** For reading committed records. */
export function newCluster(config: ClusterConfig): Cluster {
  return new Cluster(clusterOptions(config));
}

export interface OwnConsumerConfig extends ConsumerConfig {
  readonly onJoining?: OnJoining;
}

/** Creates a consumer of kafkajs that uses the driver's `Cluster`. */
export function newConsumer(config: ClusterConfig, { onJoining, ...options }: OwnConsumerConfig): Consumer {
  const instrumentationEmitter = new EventEmitter();
  const { metadataMaxAge, allowAutoTopicCreation } = options;
  const cluster = new Cluster(
    Object.assign(clusterOptions(config), {
      instrumentationEmitter,
      onJoining,
      ...(metadataMaxAge !== undefined && { metadataMaxAge }),
      ...(allowAutoTopicCreation !== undefined && { allowAutoTopicCreation }),
    }),
  );
  const retry = { ...config.retry, ...options.retry };
  return createConsumer({ ...options, retry, logger: silentLogger(), cluster, isolationLevel: READ_COMMITTED, instrumentationEmitter });
}

/** The options of every cluster object of kafkajs. */
export function clusterOptions(config: ClusterConfig): ConnectionOptions {
  const options = {
    connectionTimeout: 1_000,
    ...config,
    // The driver's watchdogs (`watchdog.ts`) time out requests instead.
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
