import { addAbortListener } from 'node:events';
import { Backoff } from '../../backoff.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { TopicPartition } from '../../topic-log.ts';
import { findCoordinator } from '../requests/groups.ts';
import { type AboutPartitions, type Answered, type PartitionAnswers, type Request } from '../requests/request.ts';
import { type Metadata, type PartitionMetadata, type TopicMetadata, metadata } from '../requests/topics.ts';
import { AnsweredError, answeredError, missingRight, oneError, refusalError, unknownTopicError } from './answered-error.ts';
import { BrokerConnection, type ConnectionOptions } from './broker-connection.ts';
import { ConnectionError } from './connection-error.ts';
import { type DriverError, chain, kindOf } from './driver-errors.ts';
import { KAFKA_ERRORS } from './kafka-errors.ts';

const { LEADER_NOT_AVAILABLE } = KAFKA_ERRORS;
const NONE_READY = 'no broker is ready: the cluster metadata lists none';
const NO_LEADER = -1;
const PAUSES = { firstMs: 8, mostMs: 200 };
const REPEATED_FOR_MS = 2_000;

/** What the clusters of a log know of its brokers, so that many lanes don't each fetch the metadata of all partitions. */
export class KnownCluster {
  /** The advertised addresses by node ID, as of the last response to Metadata; empty before the first. */
  nodes: ReadonlyMap<number, string> = new Map();
  /** Topics that exist, as far as they were needed. An error that other brokers may answer otherwise clears them. */
  readonly topics: Map<string, TopicMetadata> = new Map();
  /** Coordinators by kind and name, such as `group orders`. A failed request removes its coordinator. */
  readonly coordinators: Map<string, string> = new Map();
}

export interface ClusterConfig extends ConnectionOptions {
  /** Closes the cluster's connections, and lets no new one open. */
  readonly signal: AbortSignal;
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** Sends the request to the broker at this address, without repeating it. Default: to the brokers that the request's `to` selects. */
  readonly broker?: string | undefined;
}

/**
 * A cluster as one user of it sees it: its brokers, leaders and coordinators, with a connection to each broker that was needed, and a second one for
 * requests that can wait unless the user sends one request at a time. A connection is opened when a request needs it, and forgotten when it is lost.
 */
export class Cluster {
  readonly config: ClusterConfig;
  readonly #closing = new AbortController();
  readonly #ofConfig: Disposable;
  readonly #connections = new Map<string, Promise<BrokerConnection>>();
  readonly #known: KnownCluster;
  readonly #hasOneUser: boolean;

  /** `hasOneUser`: true if its user sends one request at a time, so that requests that wait delay no others. */
  constructor(config: ClusterConfig, known: KnownCluster = new KnownCluster(), hasOneUser = false) {
    this.config = config;
    this.#known = known;
    this.#hasOneUser = hasOneUser;
    this.#ofConfig = addAbortListener(config.signal, () => this.close(config.signal.reason as Error));
  }

  /** The advertised addresses of the brokers that the cluster considers alive, by node ID, as of the last response to Metadata. */
  get nodes(): ReadonlyMap<number, string> {
    return this.#known.nodes;
  }

  /**
   * Fetches metadata of topics, each with its own error code, and notes the brokers and leaders that it names. `topics`: null for all. `broker`: as
   * in `AskOptions`.
   */
  async metadata(topics: readonly string[] | null, broker?: string): Promise<Metadata> {
    return await (broker === undefined ? this.#repeated(() => this.#fetchMetadata(topics)) : this.#fetchMetadata(topics, broker));
  }

  /** True if the metadata lists the partition, as far as it was needed. */
  knows(place: TopicPartition): boolean {
    return this.#partition(place) !== undefined;
  }

  /** Forgets the leaders, so that the next request fetches them. */
  forget(): void {
    this.#known.topics.clear();
  }

  /** Closes all connections at once. Requests in flight reject with `reason`. */
  close(reason: Error = new Error('The connections are closed.')): void {
    this.#ofConfig[Symbol.dispose]();
    this.#closing.abort(reason);
  }

  /**
   * Sends a request to the broker that answers it, or its parts to several leaders at once. If all errors are known to pass soon (`kafka-errors.ts`),
   * it repeats the request for about 2 s, with fresh metadata if needed. Repeated requests to leaders contain only the partitions that no leader has
   * accepted yet. Throws a `MissingRightError` if this user lacks a right.
   */
  async ask<Options, Answer>(request: Request<Options, Answer>, options: Options, { signal, broker }: AskOptions = {}): Promise<Answer> {
    if (broker !== undefined) return await this.#send(broker, request, options);
    const accepted = new Map<string, unknown>();
    return await this.#repeated(async () => {
      if (request.to !== 'leader') return await this.#askBroker(request, options);
      // Every request to leaders has options and a response of these types.
      await this.#askLeaders(request as Request<never, PartitionAnswers<unknown>>, options as AboutPartitions, accepted);
      return accepted as Answer;
    }, signal);
  }

  /** Sends one request once. Tests override this method to answer requests without brokers. */
  async exchange<Options, Answer>(broker: string, request: Request<Options, Answer>, options: Options): Promise<Answered<Answer>> {
    const connection = await this.#connected(broker, request.mayWait?.(options) === true);
    return await connection.send(request, options);
  }

  /** The address of some broker that a connection can be opened to, advertised addresses first. */
  async anyBroker(): Promise<string> {
    const { addresses } = this.config;
    const candidates = addresses.inOrder(this.#known.nodes.size === 0 ? undefined : this.#known.nodes.values());
    let failure: unknown;
    for (const address of candidates) {
      try {
        await this.#connected(address, false);
        return address;
      } catch (error) {
        this.#closing.signal.throwIfAborted();
        failure = error;
        if (!(error instanceof ConnectionError)) break;
      }
    }
    // The next attempt begins with the addresses of the user's options: the whole cluster may have moved.
    this.#known.nodes = new Map();
    throw failure;
  }

  /** Connects to the coordinator of a transactional ID, so that the first request to it needn't wait for that. */
  async connect(transactionalId: string): Promise<void> {
    await this.#repeated(() => this.#atCoordinator('transaction', transactionalId, (address) => this.#connected(address, false)));
  }

  protected async leaderOf({ topic, partition }: TopicPartition): Promise<string> {
    await this.know([topic]);
    const found = this.#partition({ topic, partition });
    if (found === undefined) throw unknownTopicError(topic, partition);
    const address = found.leader === NO_LEADER ? undefined : this.#known.nodes.get(found.leader);
    if (address === undefined) throw answeredError(LEADER_NOT_AVAILABLE.code, { topic });
    return address;
  }

  protected async controller(): Promise<string> {
    const { controllerId } = await this.#fetchMetadata([]);
    const address = this.#known.nodes.get(controllerId);
    if (address === undefined) throw answeredError(LEADER_NOT_AVAILABLE.code);
    return address;
  }

  protected async findCoordinator(of: 'group' | 'transaction', name: string): Promise<string> {
    const { host, port } = await this.#send(await this.anyBroker(), findCoordinator, { of, name });
    return `${host}:${port}`;
  }

  /** Fetches the leaders of the topics that aren't known. Throws the broker's error if a topic can't be used. */
  protected async know(topics: readonly string[]): Promise<void> {
    const unknown = [...new Set(topics)].filter((topic) => !this.#known.topics.has(topic));
    if (unknown.length === 0) return;
    const { topicMetadata } = await this.#fetchMetadata(unknown);
    const refusals = topicMetadata.flatMap(({ topic, topicErrorCode: errorCode }) => (errorCode === 0 ? [] : [{ errorCode, topic }]));
    const error = refusalError(refusals);
    if (error !== undefined) throw missingRight(error, metadata.needs({ topics: unknown })) ?? error;
  }

  #partition({ topic, partition }: TopicPartition): PartitionMetadata | undefined {
    return this.#known.topics.get(topic)?.partitionMetadata.find(({ partitionId }) => partitionId === partition);
  }

  async #repeated<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const deadline = performance.now() + REPEATED_FOR_MS;
    for (const backoff = new Backoff(PAUSES); ; await backoff.pause(signal)) {
      try {
        return await work();
      } catch (error) {
        const remedy = remedyOf(error);
        if (remedy === 'elsewhere' || isOfConnection(error)) this.forget();
        if (remedy === undefined || performance.now() >= deadline) throw error;
      }
    }
  }

  async #fetchMetadata(topics: readonly string[] | null, broker?: string): Promise<Metadata> {
    const answer = await this.#send(broker ?? (await this.anyBroker()), metadata, { topics });
    // The controller hasn't heard from the brokers for a moment, and considers them gone.
    if (answer.brokers.length === 0) throw new AnsweredError({ errorCode: LEADER_NOT_AVAILABLE.code, text: NONE_READY });
    this.#known.nodes = new Map(answer.brokers.map(({ nodeId, host, port }) => [nodeId, `${host}:${port}`]));
    for (const found of answer.topicMetadata) if (found.topicErrorCode === 0) this.#known.topics.set(found.topic, found);
    return answer;
  }

  async #askLeaders(
    request: Request<never, PartitionAnswers<unknown>>,
    options: AboutPartitions,
    accepted: Map<string, unknown>,
  ): Promise<void> {
    const left = options.topicPartitions.filter((place) => !accepted.has(partitionKey(place)));
    await this.know(left.map(({ topic }) => topic));
    const leaders = new Map<TopicPartition, string>();
    for (const place of left) leaders.set(place, await this.leaderOf(place));
    const sending = Array.from(
      Map.groupBy(left, (place) => leaders.get(place) ?? ''),
      async ([leader, topicPartitions]) => {
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
    broker: string,
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

  /** Returns the reason of an outage in which a group's coordinator owes a response; undefined if the coordinator isn't known. */
  silentCoordinator(groupId: string): string | undefined {
    const { addresses } = this.config;
    const address = this.#known.coordinators.get(`group ${groupId}`);
    // A join waits for the other members, and for the brokers that keep copies of it.
    return address && addresses.silentReason(address, addresses.areSeveral);
  }

  async #askBroker<Options, Answer>(request: Request<Options, Answer>, options: Options): Promise<Answer> {
    if (request.to === 'controller') return await this.#send(await this.controller(), request, options);
    if (request.to !== 'group coordinator' && request.to !== 'transaction coordinator')
      return await this.#send(await this.anyBroker(), request, options);
    const { groupId = '', transactionalId = '' } = options as { readonly groupId?: string; readonly transactionalId?: string };
    const [of, name] = request.to === 'group coordinator' ? (['group', groupId] as const) : (['transaction', transactionalId] as const);
    return await this.#atCoordinator(of, name, (address) => this.#send(address, request, options));
  }

  async #atCoordinator<T>(of: 'group' | 'transaction', name: string, work: (address: string) => Promise<T>): Promise<T> {
    const { coordinators } = this.#known;
    const key = `${of} ${name}`;
    try {
      const address = coordinators.get(key) ?? (await this.findCoordinator(of, name));
      coordinators.set(key, address);
      return await work(address);
    } catch (error) {
      coordinators.delete(key);
      throw error;
    }
  }

  /** `waits`: for requests to which a broker can delay its response. They would delay all others on their connection. */
  #connected(address: string, waits: boolean): Promise<BrokerConnection> {
    this.#closing.signal.throwIfAborted();
    const key = `${address} ${waits && !this.#hasOneUser}`;
    const known = this.#connections.get(key);
    if (known !== undefined) return known;
    const opening = BrokerConnection.open(address, this.config, this.#closing.signal);
    this.#connections.set(key, opening);
    const forget = (): void => {
      if (this.#connections.get(key) === opening) this.#connections.delete(key);
    };
    opening.then(({ closed }) => closed.then(forget), forget);
    return opening;
  }
}

/** True if a connection to a broker failed, perhaps because it is down, and others lead its partitions by now. */
function isOfConnection(error: unknown): boolean {
  return [...chain(error)].some((each) => each instanceof ConnectionError);
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
  return kind === 'again' && (error as DriverError).topic === undefined ? kind : undefined;
}
