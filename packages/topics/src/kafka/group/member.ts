import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff } from '../../backoff.ts';
import { TopicLogError } from '../../topic-log-error.ts';
import { disagreementError, disagrees, waitForAgreement } from './group-agreement.ts';
import { driverError, isAnswer, verdictOf } from '../client/driver-errors.ts';
import { GroupSession, type Joined } from './group-session.ts';
import type { TopicPartition } from '../../topic-log.ts';
import { MemberConsumer } from './member-consumer.ts';
import type { Consumer } from '../client/kafkajs-internals.ts';
import type { Cluster, OwnConsumerConfig } from '../client/cluster.ts';
import { describeGroup, leaveGroup } from '../requests/groups.ts';

const SESSION_TIMEOUT_MS = 6_000;
const PAUSES = { firstMs: 100, mostMs: 2_000 };
const POLL_MS = 200;

export interface GroupMembershipOptions {
  readonly newConsumer: (config: OwnConsumerConfig) => Consumer;
  /** Creates a client for single requests, because a broker answers nothing else on a connection on which a join waits. */
  readonly cluster: () => Cluster;
  readonly group: string;
  /** The topics whose partitions the members share. They must exist. */
  readonly topics: readonly string[];
  /** Identifies the settings that all members must share, such as a hash of lanes and credentials. */
  readonly agreement: string;
  /** How long a member can be silent before the others get its partitions, ms. Default 6000. */
  readonly sessionTimeoutMs?: number;
  /**
   * Called with all partitions of this member after every join, even if they are the same, and when the broker accepts a heartbeat again after
   * `onUncertain`. Must not throw.
   */
  readonly onAssigned: (partitions: readonly TopicPartition[]) => void;
  /** Called when the session may have ended, because the brokers didn't respond. Other members may own the partitions by now. */
  readonly onUncertain: () => void;
  /** True for an error that the member waits out. Default: every temporary error. */
  readonly waitsOut?: (error: Error) => boolean;
  /** Called when a request to the group has failed or lost its connection, and the member retries. */
  readonly onFault?: (error: Error) => void;
  /** Called when a response shows that the group works. */
  readonly onAnswer?: () => void;
  /**
   * Called once if a membership that had begun has ended for good, for example with a `TopicLogError` (HEADGATE_GROUP_DISAGREEMENT). Just before
   * that, `onAssigned` is called without partitions.
   */
  readonly onFailed: (error: Error) => void;
}

export interface GroupMembership {
  /**
   * Resolves after the first assignment, which may be empty. Rejects with a `TopicLogError` (HEADGATE_GROUP_DISAGREEMENT) if the group works under
   * another agreement; members that have just died count until the group notices. Also rejects if `leave` is called first.
   */
  readonly joined: Promise<void>;
  /** This member's ID; undefined while it isn't in the group. The ID changes when the member joins again after an error. */
  readonly memberId: string | undefined;
  /**
   * Leaves the group, so that the others get the partitions at once. Takes at most one session timeout. `onAssigned` and `onUncertain` are not called
   * after this call.
   */
  leave(): Promise<void>;
}

/**
 * Joins the group and stays in it with one consumer after another, also through outages of the brokers. It reads no record and commits no offset. The
 * group only says which member should own a partition. For a moment, two members can both believe that they own it.
 */
export class Member implements GroupMembership {
  readonly #options: GroupMembershipOptions;
  readonly #sessionTimeoutMs: number;
  readonly #agreement: string;
  readonly #session: GroupSession;
  readonly #stopped = new AbortController();
  readonly #first: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #running: Promise<void>;
  #current: MemberConsumer | undefined;
  #joins = 0;
  #started = false;
  #lacksRight = false;

  constructor(options: GroupMembershipOptions) {
    this.#options = options;
    this.#sessionTimeoutMs = options.sessionTimeoutMs ?? SESSION_TIMEOUT_MS;
    this.#agreement = JSON.stringify([options.agreement, ...[...options.topics].sort()]);
    this.#session = new GroupSession({
      sessionTimeoutMs: this.#sessionTimeoutMs,
      onAssigned: options.onAssigned,
      onUncertain: options.onUncertain,
      onSilence: () => this.#current?.giveUp(),
    });
    this.#running = this.#run();
  }

  get joined(): Promise<void> {
    return this.#first.promise;
  }

  get memberId(): string | undefined {
    return this.#session.memberId;
  }

  async leave(): Promise<void> {
    this.#session.close();
    const left = new Error('This process has left the group.');
    this.#stopped.abort(left);
    this.#first.reject(left);
    this.#current?.end(left);
    await atMost(this.#running, this.#sessionTimeoutMs);
  }

  async #run(): Promise<void> {
    for (const backoff = new Backoff(PAUSES); !this.#stopped.signal.aborted;) {
      const joins = this.#joins;
      const consumer = this.#consumer();
      this.#current = consumer;
      const fault = await this.#live(consumer);
      const failure = this.#finalOf(fault);
      if (failure === undefined && !this.#stopped.signal.aborted) this.#options.onFault?.(fault);
      this.#lacksRight = verdictOf(fault) === 'right';
      await atMost(consumer.close(), this.#sessionTimeoutMs);
      if (failure !== undefined) return this.#fail(failure);
      if (this.#joins > joins) backoff.reset();
      await backoff.pause(this.#stopped.signal).catch(() => undefined);
    }
  }

  /** The error to give up with, or undefined if another consumer may succeed. */
  #finalOf(error: Error): Error | undefined {
    const { group, waitsOut = (fault) => verdictOf(fault) === 'passes' } = this.#options;
    if (isAnswer(error, 'INCONSISTENT_GROUP_PROTOCOL')) return takenError(group, error);
    if (isAnswer(error, 'INVALID_SESSION_TIMEOUT')) return sessionError(this.#sessionTimeoutMs, error);
    if (waitsOut(error)) return undefined;
    const final = driverError(error);
    return final instanceof Error ? final : error;
  }

  #consumer(): MemberConsumer {
    const { newConsumer, group, topics } = this.#options;
    const consumer: MemberConsumer = new MemberConsumer({
      newConsumer,
      group,
      topics,
      sessionTimeoutMs: this.#sessionTimeoutMs,
      agreement: this.#agreement,
      onJoin: () => this.#session.join(),
      onJoined: (joined) => this.#joined(consumer, joined),
      onHeartbeat: (ageMs) => this.#session.alive(ageMs),
    });
    return consumer;
  }

  async #live(consumer: MemberConsumer): Promise<Error> {
    try {
      await consumer.connect();
      if (this.#joins === 0) await this.#agreed(consumer);
      this.#stopped.signal.throwIfAborted();
      // After a missing right, the next response may be the same refusal, so only a completed join shows that the group works again.
      if (!this.#lacksRight) void consumer.joining.then(this.#options.onAnswer);
      const former = this.#session.lastMemberId;
      if (former !== undefined) void consumer.joining.then(() => this.#remove(consumer, former));
      await consumer.join();
      return await consumer.ended;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  async #remove(consumer: MemberConsumer, former: string): Promise<void> {
    while (consumer.isJoining && !(await this.#isRemoved(consumer, former))) await this.#pause(POLL_MS);
  }

  /**
   * Removes a former member of this process, whose consumer crashed, from the group, so that a join needn't wait for the former member's session to
   * end. Returns false if the caller should try again, for example while the group doesn't list the new consumer yet. If the former member left
   * first, the others would get this process's partitions for a moment.
   */
  async #isRemoved({ joiningAs = '' }: MemberConsumer, former: string): Promise<boolean> {
    const cluster = this.#options.cluster();
    const groupId = this.#options.group;
    try {
      await cluster.connect();
      const members = await cluster.ask(describeGroup, { groupId });
      if (!members.has(former)) return true;
      if (!members.has(joiningAs)) return false;
      await cluster.ask(leaveGroup, { groupId, memberId: former });
      return true;
    } catch (error) {
      return isAnswer(error, 'UNKNOWN_MEMBER_ID');
    } finally {
      await cluster.disconnect().catch(() => undefined);
    }
  }

  #joined(consumer: MemberConsumer, joined: Joined & { readonly isLeader: boolean }): void {
    this.#joins++;
    this.#options.onAnswer?.();
    this.#session.joined(joined);
    if (joined.partitions.length > 0 || joined.isLeader) this.#begin();
    else void this.#askWhyNone(consumer, this.#joins);
  }

  #agreed(consumer: MemberConsumer): Promise<void> {
    return waitForAgreement({
      describe: () => consumer.describe(),
      group: this.#options.group,
      agreement: this.#agreement,
      sessionTimeoutMs: this.#sessionTimeoutMs,
      signal: this.#stopped.signal,
    });
  }

  async #askWhyNone(consumer: MemberConsumer, join: number): Promise<void> {
    while (join === this.#joins && !this.#stopped.signal.aborted) {
      const group = await consumer.describe().catch(() => undefined);
      if (group?.state === 'Stable' && join === this.#joins) {
        if (disagrees(group, this.#agreement)) consumer.end(disagreementError(this.#options.group));
        else this.#begin();
        return;
      }
      await this.#pause(POLL_MS);
    }
  }

  #begin(): void {
    this.#started = true;
    this.#first.resolve();
  }

  #fail(failure: Error): void {
    this.#session.close();
    this.#stopped.abort(failure);
    if (!this.#started) return this.#first.reject(failure);
    this.#options.onAssigned([]);
    this.#options.onFailed(failure);
  }

  async #pause(pauseMs: number): Promise<void> {
    await sleep(pauseMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
  }
}

/** Waits at most `limitMs` for a consumer to end. A consumer whose broker doesn't respond ends later, but owns no partition after a session. */
async function atMost(ending: Promise<void>, limitMs: number): Promise<void> {
  const enough = new AbortController();
  await Promise.race([ending, sleep(limitMs, undefined, { signal: enough.signal }).catch(() => undefined)]);
  enough.abort();
}

function sessionError(sessionTimeoutMs: number, cause: Error): TopicLogError {
  const message =
    `The brokers refuse the group's session timeout of ${sessionTimeoutMs} ms (INVALID_SESSION_TIMEOUT). On the brokers, set ` +
    `group.min.session.timeout.ms to at most ${sessionTimeoutMs}, and group.max.session.timeout.ms to at least that.`;
  return new TopicLogError({ code: 'HEADGATE_BROKERS_REFUSE', message }, { cause });
}

function takenError(group: string, cause: Error): TopicLogError {
  const message =
    `Group "${group}" is in use by other consumers than Headgate's, or by another release of Headgate. If you have just killed them, wait until their ` +
    'session timeout has passed (usually 45 s), then start again. Otherwise, choose another group.';
  return new TopicLogError({ code: 'HEADGATE_GROUP_TAKEN', message }, { cause });
}
