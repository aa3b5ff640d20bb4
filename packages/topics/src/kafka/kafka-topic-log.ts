import { randomUUID } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import { OpenLog } from '../open-log.ts';
import { assertFields } from '../record-fields.ts';
import { Backoff } from '../backoff.ts';
import { MAX_INT32, assertTopics, assertWhole } from '../whole-options.ts';
import type { FieldsOf } from '../pull-reader.ts';
import { partitionKey } from '../topic-partition.ts';
import { LaneHeldError } from '../lane-errors.ts';
import { TopicMismatchError } from '../topic-errors.ts';
import { TopicLogError } from '../topic-log-error.ts';
import type {
  CreatedTopics,
  GroupMember,
  OpenTransaction,
  JoinGroupOptions,
  LaneSpec,
  LaneWriter,
  NewRecord,
  NewTopicSpec,
  ReadOptions,
  RecordPosition,
  RecordLimit,
  StateReading,
  TopicInfo,
  TopicLog,
  TopicPartition,
  TopicReader,
} from '../topic-log.ts';
import { type Availability, type AvailabilityChange, availability } from '../availability.ts';
import { BrokerAddresses } from './client/broker-addresses.ts';
import { assertKnownKafkajs } from './client/transport.ts';
import { failureText, isAnswer, passes, refusal } from './client/driver-errors.ts';
import { Cluster, type ClusterConfig, KnownCluster } from './client/cluster.ts';
import { refusesToken } from './client/error-kinds.ts';
import { isCompacted } from './topics/topic-requirements.ts';
import { createTopics } from './topics/create-topics.ts';
import { topicOffsets } from './topics/describe-topics.ts';
import { groupOffsets } from './reader/group-offsets.ts';
import { awaitHandover, holderToSpare } from './lane/handover.ts';
import { TransactionalProducer } from './producer/transactional-producer.ts';
import { KafkaLaneWriter } from './lane/lane-writer.ts';
import { Client } from './client/client.ts';
import { Member } from './group/member.ts';
import { type WhichOffset, listOffsets } from './requests/offsets.ts';
import { findOpenTransaction } from './reader/open-transaction.ts';
import { Appender } from './producer/appender.ts';
import { TransactionSession, type TransactionSessionOptions } from './producer/transaction-session.ts';
import { COMPRESSIONS } from './wire/codecs.ts';
import { RecordSender } from './producer/record-sender.ts';
import { isStaleToken } from './security/bearer-authentication.ts';
import { type KafkaSaslOptions, authenticationOf } from './security/authentication.ts';
import { StatePartition } from './lane/state-partition.ts';
import { abortable, withinTime } from './client/time-limit.ts';
import { TopicDirectory } from './topics/topic-directory.ts';
import { KafkaTopicReader } from './reader/topic-reader.ts';

/** Options of {@link kafkaTopicLog}. */
export interface KafkaTopicLogOptions {
  /** `host:port` of some of the cluster's brokers. */
  readonly brokers: readonly string[];
  /** How brokers name this client in their logs and quotas. Default 'headgate'. */
  readonly clientId?: string;
  /** TLS: true, or Node's TLS options (ca, cert, key). Default false. */
  readonly ssl?: boolean | ConnectionOptions;
  /** How the client authenticates. Default: not at all. */
  readonly sasl?: KafkaSaslOptions;
  /** Replicas of each partition of the topics that this log creates. Default 3. */
  readonly replication?: number;
  /**
   * Settings of single topics, such as `retention.ms`: by the topic's name, and by Kafka's name of the setting. The log creates missing topics with
   * them. `createTopics` warns of an existing topic that has other ones. Default: none.
   */
  readonly topicSettings?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Compression of written records. Default 'gzip'. */
  readonly compression?: 'none' | 'gzip' | 'zstd';
  /**
   * How long a transaction can stay open before a broker aborts it, ms. At most the brokers' `transaction.max.timeout.ms`. Default 60,000.
   */
  readonly transactionTimeoutMs?: number;
  /** How long a member can be silent before its group removes it, ms. Default 6000. */
  readonly sessionTimeoutMs?: number;
  /** How long a newcomer waits for a living holder to release its lane before it takes the lane, ms. Default 5000. */
  readonly handoverMs?: number;
  /** Called when an outage of the brokers begins or changes, and when it ends. */
  readonly onAvailability?: (change: AvailabilityChange) => void;
}

/** Maximum time until a broker responds when the log is opened. A frozen broker accepts connections but never responds. */
const REACHABLE_WITHIN_MS = 7_000;
/** Maximum time until the first broker accepts a connection when the log is opened. */
const CONNECTED_WITHIN_MS = 2_000;
const OPEN_PAUSES = { leastMs: 250, firstMs: 500, mostMs: 1_000 };
const SESSION_TIMEOUT_MS = 6_000;
/** The names of offsets in Kafka's protocol. */
const WHICH = { earliest: 'earliest', end: 'stable', written: 'replicated' } as const;
/** Tolerance for the difference between the clocks of two machines. */
const CLOCKS_APART_MS = 5_000;
/** Tolerance for the difference between the clocks of two brokers. */
const BROKERS_APART_MS = 1_000;

/**
 * Opens a topic log on a Kafka cluster. A lane's newcomer fences the older holder. Calls wait out temporary errors of brokers and connections. Throws
 * a `TopicLogError` (HEADGATE_TOPIC_LOG_OPEN) if the brokers can't be used now, and a `RangeError` for an invalid number.
 */
export async function kafkaTopicLog(options: KafkaTopicLogOptions): Promise<TopicLog> {
  const { replication = 3, transactionTimeoutMs = 60_000, sessionTimeoutMs = SESSION_TIMEOUT_MS, handoverMs = 5_000 } = options;
  assertWhole('kafkaTopicLog', { replication }, 1, 32_767);
  assertWhole('kafkaTopicLog', { transactionTimeoutMs, sessionTimeoutMs }, 1, MAX_INT32);
  assertWhole('kafkaTopicLog', { handoverMs }, 0, MAX_INT32);
  assertKnownKafkajs();
  const { brokers, ssl = false } = options;
  const log = new KafkaTopicLog(options);
  try {
    await log.assertReachable();
    return log;
  } catch (error) {
    await log.close();
    const message = `The topic log on Kafka at ${brokers.join(', ')} can't be opened: ${whyNotOpen(error, ssl !== false, log.failureText(error))}`;
    throw new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_OPEN', message }, { cause: error });
  }
}

/** `explained`: the text of `error`, with what is known of the address. */
function whyNotOpen(error: unknown, ssl: boolean, explained: string): string {
  const text = failureText(error);
  if (isStaleToken(error)) return `${text}.`;
  if (explained !== text) return `${explained}.`;
  if (isAnswer(error, 'LEADER_NOT_AVAILABLE'))
    return `${text}. The cluster may be starting, or may have no controller. Try again, and check the broker logs.`;
  if (refusesToken(error)) return `${text}. Check the token, and the mechanism (sasl).`;
  if (ssl && text.includes('before secure TLS connection was established'))
    return `${text}. If the brokers don't use TLS at this address, remove ssl. Otherwise, use their TLS port.`;
  if (!ssl && text.includes('Closed connection'))
    return `${text}. If it is a TLS port, set ssl. Otherwise, check that a Kafka broker listens at this address.`;
  if (/unable to (?:verify|get)|self-signed/u.test(text))
    return `${text}. If your own certificate authority signed the brokers' certificate, set ssl: { ca }.`;
  return refusal(error) ?? `${text}. Check that the brokers are running, and that address, ssl and sasl match the cluster.`;
}

class KafkaTopicLog extends OpenLog implements TopicLog {
  readonly #id = randomUUID();
  readonly #config: ClusterConfig;
  readonly #known = new KnownCluster();
  readonly #options: KafkaTopicLogOptions;
  readonly #availability: Availability;
  readonly #addresses: BrokerAddresses;
  readonly #cluster: Client;
  readonly #directory: TopicDirectory;
  readonly #sender: RecordSender;
  readonly #ends = new Map<string, number>();
  readonly #appender: Appender;
  readonly #closing = new AbortController();
  readonly #lanes = new Set<KafkaLaneWriter>();
  /** The open readers, each with its topic. */
  readonly #readers = new Map<{ begun(): Promise<void>; close(): Promise<void> }, string>();
  readonly #memberships = new Set<Member>();
  #brokers = 1;

  constructor(options: KafkaTopicLogOptions) {
    super('The topic log on Kafka');
    const { brokers, clientId = 'headgate', ssl = false, sasl } = options;
    this.#options = options;
    this.#addresses = new BrokerAddresses(brokers);
    this.#availability = availability(options.onAvailability ?? (() => undefined));
    this.#config = {
      clientId,
      ssl,
      authentication: sasl && authenticationOf(sasl),
      addresses: this.#addresses,
      availability: this.#availability,
      signal: this.#closing.signal,
    };
    const cluster = new Cluster(this.#config, this.#known);
    this.#directory = new TopicDirectory(new Client(cluster));
    this.#cluster = this.#clientOf(cluster);
    this.#appender = new Appender({
      session: (transactionalId, session) => this.#session(transactionalId, { ...session, signal: this.#closing.signal }),
      client: this.#cluster,
    });
    this.#sender = new RecordSender(COMPRESSIONS[options.compression ?? 'gzip'], (topic) => this.#directory.maxMessageBytes(topic));
  }

  failureText(error: unknown): string {
    return this.#addresses.failureText(error);
  }

  /**
   * Throws if no broker can be used now: one at an address of the user's options, and one at an advertised address. An advertised address that this
   * machine can't reach is the most frequent mistake.
   */
  async assertReachable(): Promise<void> {
    let passing: Error | undefined;
    const reaching = this.#reached((error) => (passing = error));
    // An earlier error, or the address of the broker that doesn't respond, says more than the timeout.
    await withinTime(REACHABLE_WITHIN_MS, reaching, () => passing ?? this.#addresses.silence);
  }

  /** Tries again for a while: a new token can come a moment late, a connection can break off, and a starting cluster can have no broker that is ready. */
  async #reached(onPassing: (error: Error) => void): Promise<void> {
    const { cluster } = this.#cluster;
    const startedMs = performance.now();
    for (const backoff = new Backoff(OPEN_PAUSES); ; await backoff.pause(this.#closing.signal)) {
      try {
        this.#brokers = (await cluster.metadata([])).brokers.length;
        await cluster.anyBroker();
        return;
      } catch (error) {
        const withinMs = this.#addresses.areReached || isStaleToken(error) ? REACHABLE_WITHIN_MS : CONNECTED_WITHIN_MS;
        const isLate = performance.now() + OPEN_PAUSES.mostMs >= startedMs + withinMs;
        if (isLate || !passes(error) || !(error instanceof Error)) throw error;
        onPassing(error);
      }
    }
  }

  async createTopics(
    topics: readonly NewTopicSpec[],
    { validateOnly = false }: { readonly validateOnly?: boolean } = {},
  ): Promise<CreatedTopics> {
    this.assertOpen();
    assertTopics(topics);
    const { replication = 3, topicSettings: settings = {} } = this.#options;
    const { descriptions, ...done } = await this.#cluster.run((cluster) =>
      createTopics({ cluster, topics, replication, settings, validateOnly }),
    );
    this.#directory.note(descriptions);
    return done;
  }

  async listTopics(
    names?: readonly string[],
    { withOffsets = true }: { readonly withOffsets?: boolean } = {},
  ): Promise<readonly TopicInfo[]> {
    this.assertOpen();
    const topics = await (names === undefined ? this.#directory.all() : this.#directory.find(names));
    const infos = Array.from(topics, async ([name, description]): Promise<TopicInfo> => {
      const { id, partitions } = description;
      const offsets = withOffsets ? await this.#cluster.run((cluster) => topicOffsets(cluster, name, partitions)) : [];
      return { name, partitions, compacted: isCompacted(description), offsets, ...(id !== undefined && { id }) };
    });
    return await Promise.all(infos);
  }

  async offsets(topicPartitions: readonly TopicPartition[], which: 'earliest' | 'end' | 'written'): Promise<readonly number[]> {
    return await this.#offsets(topicPartitions, WHICH[which]);
  }

  async #offsets(topicPartitions: readonly TopicPartition[], which: WhichOffset | number): Promise<readonly number[]> {
    this.assertOpen();
    await this.#directory.assertPartitions(topicPartitions);
    const offsets = await this.#cluster.run((cluster) => cluster.ask(listOffsets, { topicPartitions, which }));
    return topicPartitions.map((place) => offsets.get(partitionKey(place)) ?? 0);
  }

  async openLane(lane: LaneSpec, signal?: AbortSignal): Promise<LaneWriter> {
    this.assertOpen();
    await abortable(this.#assertLane(lane), signal);
    this.assertOpen();
    const writer = new KafkaLaneWriter({
      lane,
      log: this.#id,
      session: (session) => this.#session(lane.name, session),
      client: this.#cluster,
      placed: async (content) => {
        await this.#directory.assertPartitions(content.offsets);
        return { ...content, records: await this.#directory.withPartitions(content.records) };
      },
      member: () => this.#member(),
      skewMs: () => (this.#brokers > 1 ? BROKERS_APART_MS : 0),
      onClose: (closed) => this.#lanes.delete(closed),
    });
    this.#lanes.add(writer);
    try {
      await abortable(this.#takeLane(writer, lane), signal);
      return writer;
    } catch (error) {
      await writer.close();
      throw error;
    }
  }

  async append(records: readonly NewRecord[]): Promise<readonly RecordPosition[]> {
    this.assertOpen();
    for (const record of records) assertFields(record);
    const placed = await this.#directory.withPartitions(records);
    if (placed.length === 0) return [];
    // A reader that was opened earlier from 'latest' must read these records, so wait until it knows where it starts.
    const topics = new Set(placed.map(({ topic }) => topic));
    await Promise.all([...this.#readers].flatMap(([reader, topic]) => (topics.has(topic) ? [reader.begun()] : [])));
    return await this.#appender.append(placed);
  }

  protected override reader<Field extends string | Uint8Array>(options: ReadOptions, fieldsOf: FieldsOf<Field>): TopicReader<Field> {
    this.assertOpen();
    // A reader that waits for new records keeps its connection busy, so it has its own client.
    const client = options.follow === true ? this.#clientOf(new Cluster(this.#config, this.#known)) : this.#cluster;
    const reader = new KafkaTopicReader({
      client,
      committer: this.#cluster,
      directory: this.#directory,
      read: options,
      fieldsOf,
      ends: this.#ends,
      settled: () => this.#settled(),
      onClose: (closed) => {
        this.#readers.delete(closed);
        if (client !== this.#cluster) client.cluster.close();
      },
    });
    if (options.signal?.aborted !== true) this.#readers.set(reader, options.topic);
    return reader;
  }

  async openTransaction(topicPartition: TopicPartition, signal?: AbortSignal): Promise<OpenTransaction | undefined> {
    this.assertOpen();
    return await this.#cluster.run((cluster) => findOpenTransaction(cluster, topicPartition), signal);
  }

  async readState(topic: string, partition: number): Promise<StateReading> {
    this.assertOpen();
    await this.#assertState({ topic, partition });
    const state = new StatePartition({ topic, partition });
    await this.#settled();
    await this.#cluster.run((cluster) => state.readToEnd(cluster));
    return state.reading(Date.now() - CLOCKS_APART_MS);
  }

  async joinGroup(options: JoinGroupOptions): Promise<GroupMember> {
    this.assertOpen();
    const { sessionTimeoutMs = SESSION_TIMEOUT_MS } = this.#options;
    const membership = new Member({
      log: this.#cluster.cluster,
      cluster: () => new Cluster(this.#config, this.#known, true),
      ...options,
      sessionTimeoutMs,
    });
    this.#memberships.add(membership);
    const leave = async (): Promise<void> => {
      this.#memberships.delete(membership);
      await membership.leave();
    };
    try {
      await membership.joined;
    } catch (error) {
      await leave();
      this.assertOpen();
      throw error;
    }
    return { leave };
  }

  async groupOffset({ group, topic, partition }: TopicPartition & { readonly group: string }): Promise<number | undefined> {
    this.assertOpen();
    await this.#settled();
    return (await this.#cluster.run((cluster) => groupOffsets(cluster, { group, topic, partitions: [partition] }))).get(partition);
  }

  async offsetSince(place: TopicPartition, sinceMs: number): Promise<number | undefined> {
    const [offset = -1] = await this.#offsets([place], Math.max(0, Math.ceil(sinceMs)));
    return offset < 0 ? undefined : offset;
  }

  async recordLimit(topic: string): Promise<RecordLimit> {
    this.assertOpen();
    return await this.#directory.recordLimit(topic);
  }

  protected override async end(): Promise<void> {
    await Promise.allSettled([...this.#readers.keys()].map((reader) => reader.close()));
    await Promise.allSettled([...this.#lanes].map((lane) => lane.close()));
    await Promise.allSettled([...this.#memberships].map((membership) => membership.leave()));
    this.#availability.close();
    // Closes the connections of all clusters.
    this.#closing.abort(this.closedError());
  }

  async #assertLane({ state, writes = [] }: LaneSpec): Promise<void> {
    await this.#directory.assertPartitions([state, ...writes]);
    await this.#assertState(state);
  }

  async #takeLane(writer: KafkaLaneWriter, { name, onlyIfFree = false }: LaneSpec): Promise<void> {
    const held = onlyIfFree ? await holderToSpare(writer, this.#cluster) : undefined;
    if (held !== undefined) throw new LaneHeldError({ lane: name, pid: held.pid, sinceMs: held.sinceMs });
    await awaitHandover(writer, this.#cluster, this.#id, this.#options.handoverMs ?? 5_000);
    await writer.open();
  }

  async #assertState({ topic, partition }: TopicPartition): Promise<void> {
    if (isCompacted(await this.#directory.describe(topic, partition))) return;
    throw new TopicMismatchError({ topic, reason: 'is not compacted. State needs a compacted topic.' });
  }

  #member(): { readonly group: string; readonly id: string } | undefined {
    return [...this.#memberships].flatMap(({ group, memberId: id }) => (id === undefined ? [] : { group, id })).at(-1);
  }

  /**
   * Resolves when the last transaction of each open lane has ended in all its partitions. A broker can report a commit before the partitions know of
   * it, so a reader that starts at once could miss the new records.
   */
  async #settled(): Promise<void> {
    await Promise.all([...this.#lanes].map((lane) => lane.settled()));
  }

  #session(
    transactionalId: string,
    options: Pick<TransactionSessionOptions, 'places' | 'written' | 'noted' | 'notes' | 'signal'>,
  ): TransactionSession {
    const { transactionTimeoutMs = 60_000 } = this.#options;
    const cluster = new Cluster(this.#config, this.#known);
    return new TransactionSession({
      producer: new TransactionalProducer(cluster, transactionalId, transactionTimeoutMs),
      cluster,
      sender: this.#sender,
      ...options,
    });
  }

  #clientOf(cluster: Cluster): Client {
    return new Client(cluster, (error) => this.#directory.explained(error));
  }
}
