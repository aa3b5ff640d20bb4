import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff } from '../../backoff.ts';
import { TopicLogError } from '../../topic-log-error.ts';
import type { AvailabilityWatcher } from '../../availability.ts';
import type { JoinGroupOptions, TopicPartition } from '../../topic-log.ts';
import { unknownTopicError } from '../client/answered-error.ts';
import { silenceOf } from '../client/broker-addresses.ts';
import type { Cluster } from '../client/cluster.ts';
import { driverError, isAnswer, passes } from '../client/driver-errors.ts';
import { abortable, withinTime } from '../client/time-limit.ts';
import { topicMetadata } from '../topics/topic-metadata.ts';
import { heartbeat, joinGroup, leaveGroup, syncGroup } from '../requests/groups.ts';
import { PROTOCOL, assignments } from './assignments.ts';
import { disagreementError, waitForAgreement } from './group-agreement.ts';
import { GroupSession, type Joined } from './group-session.ts';
import { decodeAssignment, encodeMetadata } from './member-metadata.ts';

/** Heartbeats per session timeout, so that a few can be lost. */
const HEARTBEATS = 6;
/** How often the leader of a group looks for new partitions. */
const PARTITIONS_CHECK_MS = 30_000;
const PAUSES = { firstMs: 100, mostMs: 2_000 };
/** A newcomer has no ID. */
const NO_MEMBER = '';

/** Just before `onFailed`, `onAssigned` is called without partitions. */
export interface GroupMembershipOptions extends JoinGroupOptions {
  /** Asks about the group before the first join, and says that this member leaves. */
  readonly log: Cluster;
  /** Creates a client. A connection that fails is replaced with its whole client. */
  readonly cluster: () => Cluster;
  /** How long a member can be silent before the others get its partitions, ms. */
  readonly sessionTimeoutMs: number;
}

/**
 * Joins the group and stays in it, over one connection after another, also through outages of the brokers. It reads no record and commits no offset.
 * The group only says which member should own a partition. For a moment, two members can both believe that they own it.
 */
export class Member {
  readonly #options: GroupMembershipOptions;
  readonly #agreement: string;
  readonly #session: GroupSession;
  readonly #stopped = new AbortController();
  readonly #first: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #running: Promise<void>;
  /** Ends the current connection. */
  #attempt = new AbortController();
  /** The brokers as the current attempt sees them. */
  #cluster: Cluster | undefined;
  #memberId = NO_MEMBER;
  #joins = 0;
  #watcher: AvailabilityWatcher | undefined;

  constructor(options: GroupMembershipOptions) {
    this.#options = options;
    this.#agreement = JSON.stringify([options.agreement, ...[...options.topics].sort()]);
    this.#session = new GroupSession({
      sessionTimeoutMs: this.#options.sessionTimeoutMs,
      onAssigned: options.onAssigned,
      onUncertain: options.onUncertain,
      onSilence: () =>
        this.#attempt.abort(new Error(this.#cluster?.silentCoordinator(options.group) ?? silenceOf('the group coordinator'))),
    });
    this.#running = this.#run();
  }

  /**
   * Resolves after the first assignment, which may be empty. Rejects with a `TopicLogError` (HEADGATE_GROUP_DISAGREEMENT) if the group works under
   * another agreement; members that have just died count until the group notices. Also rejects if `leave` is called first.
   */
  get joined(): Promise<void> {
    return this.#first.promise;
  }

  get group(): string {
    return this.#options.group;
  }

  /** This member's ID; undefined while it isn't in the group. The ID stays the same over a lost connection, and changes if the group forgets it. */
  get memberId(): string | undefined {
    return this.#session.memberId;
  }

  /**
   * Leaves the group, so that the others get the partitions at once. Takes at most one session timeout: if its broker doesn't respond, the group
   * removes the member after a session. `onAssigned` and `onUncertain` are not called after this call.
   */
  async leave(): Promise<void> {
    this.#watcher?.abandoned();
    this.#session.close();
    const left = new Error('This process has left the group.');
    this.#stopped.abort(left);
    this.#first.reject(left);
    await withinTime(this.#options.sessionTimeoutMs, this.#running).catch(() => undefined);
  }

  async #run(): Promise<void> {
    for (const backoff = new Backoff(PAUSES); !this.#stopped.signal.aborted;) {
      const joins = this.#joins;
      const fault = await this.#live();
      if (this.#stopped.signal.aborted) break;
      const failure = this.#finalOf(fault);
      if (failure === undefined) this.#watcher?.unavailable(this.#cluster?.config.addresses.failureText(fault) ?? fault.message);
      else this.#fail(failure);
      if (this.#joins > joins) backoff.reset();
      await backoff.pause(this.#stopped.signal).catch(() => undefined);
    }
    await this.#leave();
  }

  /** The error to give up with, or undefined if another connection may succeed. */
  #finalOf(error: Error): Error | undefined {
    const { group } = this.#options;
    if (isAnswer(error, 'INCONSISTENT_GROUP_PROTOCOL')) return takenError(group, error);
    if (passes(error)) return undefined;
    const final = driverError(error);
    return final instanceof Error ? final : error;
  }

  /** Takes part in the group over one connection. Resolves to why that ended. */
  async #live(): Promise<Error> {
    this.#attempt = new AbortController();
    const signal = AbortSignal.any([this.#attempt.signal, this.#stopped.signal]);
    const cluster = this.#options.cluster();
    this.#cluster = cluster;
    this.#watcher ??= cluster.config.availability.watcher();
    try {
      return await abortable(this.#belong(cluster, signal), signal);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      cluster.close();
    }
  }

  async #belong(cluster: Cluster, signal: AbortSignal): Promise<never> {
    const { log, group, sessionTimeoutMs } = this.#options;
    const agreement = this.#agreement;
    // Without a connection, no join has begun: see `GroupSession.join`.
    await Promise.all([
      cluster.anyBroker(),
      this.#joins === 0 ? waitForAgreement(log, group, agreement, sessionTimeoutMs, signal) : undefined,
    ]);
    for (;;) {
      signal.throwIfAborted();
      try {
        await this.#generation(cluster, signal);
      } catch (error) {
        if (isAnswer(error, 'UNKNOWN_MEMBER_ID')) this.#memberId = NO_MEMBER;
        else if (!isAnswer(error, 'REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION')) throw error;
        await sleep(PAUSES.firstMs, undefined, { signal });
      }
    }
  }

  /** Joins the group, and stays until its members or partitions change. */
  async #generation(cluster: Cluster, signal: AbortSignal): Promise<void> {
    const { group: groupId, topics } = this.#options;
    const common = { groupId, sessionTimeoutMs: this.#options.sessionTimeoutMs };
    const metadata = encodeMetadata(topics, { owned: this.#session.join(), agreement: this.#agreement });
    const joined = await cluster.ask(joinGroup, { ...common, memberId: this.#memberId, protocol: PROTOCOL, metadata });
    const { memberId, generationId, leaderId, members } = joined;
    this.#memberId = memberId;
    signal.throwIfAborted();
    this.#watcher?.available();
    if (joined.mustJoinAgain) return;
    const isLeader = leaderId === memberId;
    const partitions = isLeader ? await this.#partitions(cluster) : [];
    const assigned = isLeader ? assignments(members, partitions, this.#agreement) : [];
    const sentMs = Date.now();
    const assignment = await cluster.ask(syncGroup, { ...common, memberId, generationId, assignments: assigned });
    signal.throwIfAborted();
    const own = decodeAssignment(assignment);
    if (own.agreement !== this.#agreement) throw disagreementError(groupId);
    this.#joined({ memberId, partitions: own.partitions, ageMs: Date.now() - sentMs });
    for (let checkedMs = performance.now(); ;) {
      await sleep(this.#options.sessionTimeoutMs / HEARTBEATS, undefined, { signal });
      const beatMs = Date.now();
      await cluster.ask(heartbeat, { groupId, memberId, generationId });
      signal.throwIfAborted();
      this.#session.alive(Date.now() - beatMs);
      if (!isLeader || performance.now() - checkedMs < PARTITIONS_CHECK_MS) continue;
      checkedMs = performance.now();
      if ((await this.#partitions(cluster)).length !== partitions.length) return;
    }
  }

  /** The partitions of all topics that the members share. */
  async #partitions(cluster: Cluster): Promise<readonly TopicPartition[]> {
    const { topics } = this.#options;
    const found = await topicMetadata(cluster, topics);
    return topics.flatMap((topic) => {
      const described = found.get(topic);
      if (described === undefined) throw unknownTopicError(topic);
      return described.partitionMetadata.map(({ partitionId: partition }) => ({ topic, partition }));
    });
  }

  #joined(joined: Joined): void {
    this.#joins++;
    this.#watcher?.available();
    this.#session.joined(joined);
    this.#first.resolve();
  }

  #fail(failure: Error): void {
    this.#watcher?.available();
    this.#session.close();
    this.#stopped.abort(failure);
    if (this.#joins === 0) return this.#first.reject(failure);
    this.#options.onAssigned([]);
    this.#options.onFailed(failure);
  }

  /** Leaves the group, if a broker can be reached. */
  async #leave(): Promise<void> {
    if (this.#memberId === NO_MEMBER) return;
    // If this fails, the group removes the member when its session has timed out.
    await this.#options.log.ask(leaveGroup, { groupId: this.#options.group, memberId: this.#memberId }).catch(() => undefined);
  }
}

function takenError(group: string, cause: Error): TopicLogError {
  const message =
    `Group "${group}" is in use by other consumers than Headgate's, or by another release of Headgate. If you have just killed them, wait until their ` +
    'session timeout has passed (usually 45 s), then start again. Otherwise, choose another group.';
  return new TopicLogError({ code: 'HEADGATE_GROUP_TAKEN', message }, { cause });
}
