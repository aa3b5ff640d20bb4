import type { OwnConsumerConfig } from '../client/cluster.ts';
import { ofKafkajs } from '../client/driver-errors.ts';
import type { Consumer, GroupDescription } from '../client/kafkajs-internals.ts';
import type { TopicPartition } from '../../topic-log.ts';
import type { Joined } from './group-session.ts';
import { stickyAssigner } from './sticky-assigner.ts';

/** Heartbeats per session timeout, so that a few can be lost. */
const HEARTBEATS = 6;
/** Interval at which kafkajs checks whether a heartbeat is due, or whether the consumer must stop. */
const CHECK_MS = 250;
/** Retries of a failing connection before the consumer ends. There are few of them, because a new consumer then takes over. */
const RETRY = { retries: 6, initialRetryTime: 50, maxRetryTime: 400, restartOnFailure: async (): Promise<boolean> => false };

export interface MemberConsumerOptions {
  readonly newConsumer: (config: OwnConsumerConfig) => Consumer;
  readonly group: string;
  readonly topics: readonly string[];
  readonly sessionTimeoutMs: number;
  readonly agreement: string;
  /** Returns the partitions to claim in a join request that is about to be sent. */
  readonly onJoin: () => readonly TopicPartition[];
  readonly onJoined: (joined: Joined & { readonly isLeader: boolean }) => void;
  readonly onHeartbeat: (ageMs: number) => void;
}

/** A kafkajs consumer that is a member of the group and reads nothing; it lives until it crashes or is ended. */
export class MemberConsumer {
  readonly #options: MemberConsumerOptions;
  readonly #consumer: Consumer;
  readonly #ended: PromiseWithResolvers<Error> = Promise.withResolvers();
  readonly #joining: PromiseWithResolvers<void> = Promise.withResolvers();
  /** Duration of the latest answered request by its name, ms. */
  readonly #agesMs = new Map<string, number>();
  #joiningAs: string | undefined;
  #joined = false;
  #over = false;

  constructor(options: MemberConsumerOptions) {
    this.#options = options;
    this.#consumer = options.newConsumer({
      groupId: options.group,
      partitionAssigners: [stickyAssigner({ agreement: options.agreement, owned: options.onJoin })],
      sessionTimeout: options.sessionTimeoutMs,
      rebalanceTimeout: options.sessionTimeoutMs,
      heartbeatInterval: options.sessionTimeoutMs / HEARTBEATS,
      maxWaitTimeInMs: CHECK_MS,
      metadataMaxAge: 30_000,
      allowAutoTopicCreation: false,
      retry: RETRY,
      onJoining: (memberId) => {
        this.#joiningAs = memberId;
      },
    });
    this.#listen();
  }

  /** Resolves to the reason when the consumer has crashed or was ended. */
  get ended(): Promise<Error> {
    return this.#ended.promise;
  }

  /** The member ID in the consumer's latest request to join; undefined before the first one with an ID. */
  get joiningAs(): string | undefined {
    return this.#joiningAs;
  }

  /** True if the consumer hasn't joined yet, but still can. */
  get isJoining(): boolean {
    return !this.#joined && !this.#over;
  }

  /** Resolves at the response to the first join request. That response refuses a newcomer, or gives it an ID to join again with. */
  get joining(): Promise<void> {
    return this.#joining.promise;
  }

  async connect(): Promise<void> {
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topics: [...this.#options.topics] });
  }

  describe(): Promise<GroupDescription> {
    return this.#consumer.describeGroup();
  }

  /** Resolves when the consumer has joined or has crashed. */
  async join(): Promise<void> {
    await this.#consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async () => undefined });
  }

  /**
   * Call if the broker is silent, because kafkajs waits longer for a response than a session lasts. A consumer that hasn't joined yet
   * continues.
   */
  giveUp(): void {
    if (this.#joined) this.end(new Error('The group coordinator sent no response for a whole session timeout.'));
  }

  /** Resolves `ended` with the reason, and stops the callbacks for joins and heartbeats. */
  end(reason: Error): void {
    this.#over = true;
    this.#ended.resolve(reason);
  }

  /** Leaves the group, if a broker can be reached. */
  async close(): Promise<void> {
    this.#over = true;
    await this.#consumer.disconnect().catch(() => undefined);
  }

  #listen(): void {
    const consumer = this.#consumer;
    const { events } = consumer;
    consumer.on(events.REQUEST, ({ payload }) => {
      this.#agesMs.set(payload.apiName, payload.duration);
      if (payload.apiName === 'JoinGroup') this.#joining.resolve();
    });
    consumer.on(events.HEARTBEAT, () => {
      if (!this.#over) this.#options.onHeartbeat(this.#agesMs.get('Heartbeat') ?? 0);
    });
    consumer.on(events.CRASH, ({ payload }) => this.end(ofKafkajs(payload.error)));
    consumer.on(events.GROUP_JOIN, ({ payload }) => {
      // Pause whole topics, which includes partitions that are added later. Without the pause, kafkajs would fetch records next.
      consumer.pause(this.#options.topics.map((topic) => ({ topic })));
      if (this.#over) return;
      this.#joined = true;
      const partitions = Object.entries(payload.memberAssignment).flatMap(([topic, list]) =>
        list.map((partition) => ({ topic, partition })),
      );
      this.#options.onJoined({
        memberId: payload.memberId,
        partitions,
        isLeader: payload.isLeader,
        ageMs: this.#agesMs.get('SyncGroup') ?? 0,
      });
    });
  }
}
