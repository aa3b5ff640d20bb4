import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff } from '../../backoff.ts';
import { TopicLogError } from '../../topic-log-error.ts';
import { disagreementError, disagrees, waitForAgreement } from './group-agreement.ts';
import { chain, driverError, verdictOf } from '../client/driver-errors.ts';
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
  /** Creates a consumer on the driver's own connections. */
  readonly newConsumer: (config: OwnConsumerConfig) => Consumer;
  /** Creates a connection for one request: a broker answers nothing else on a connection on which a join waits. */
  readonly cluster: () => Cluster;
  readonly group: string;
  /** The topics whose partitions the members share; they exist. */
  readonly topics: readonly string[];
  /** Identifies what all members must share, such as a hash of lanes and credentials. Members that differ can't work together. */
  readonly agreement: string;
  /** How long a member may be silent before the others get its partitions. Default 6000. */
  readonly sessionTimeoutMs?: number;
  /**
   * Called with all partitions of this member after every join, also when they are the same, and when the broker answers the member again
   * after an uncertain session. Must not throw.
   */
  readonly onAssigned: (partitions: readonly TopicPartition[]) => void;
  /** Called when the session can't be alive any more: other members may own the partitions by now, or the brokers are unreachable. */
  readonly onUncertain: () => void;
  /** True for an error that the member waits out. Default: every temporary error. */
  readonly waitsOut?: (error: Error) => boolean;
  /** Called when a request to the group failed, was refused or lost its connection; the member retries. */
  readonly onFault?: (error: Error) => void;
  /** Called when the group has responded to a request to join, even if others must still join, and when this process has joined. */
  readonly onAnswer?: () => void;
  /** Called once, when the membership has ended for good, e.g. with a `TopicLogError` (HEADGATE_GROUP_DISAGREEMENT); `onAssigned` was called with none before. */
  readonly onFailed: (error: Error) => void;
}

export interface GroupMembership {
  /**
   * Resolves after the first assignment, which may be empty. Rejects with a `TopicLogError` (HEADGATE_GROUP_DISAGREEMENT) when the group is worked under another
   * agreement (if those members have just died, it waits until the group has noticed), and when it is left before.
   */
  readonly joined: Promise<void>;
  /** This member's ID, or undefined while it isn't in the group. A consumer that had to be recreated has another. */
  readonly memberId: string | undefined;
  /** Leaves the group, so that the others get the partitions at once. Takes at most one session. After the call, no callback is called. */
  leave(): Promise<void>;
}

/**
 * Joins the group and stays in it with one consumer after another, however often its brokers go and come back. It reads no record and
 * commits no offset. The group only says who should work a partition: for a moment, two members may both believe it is theirs.
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
    if ([...chain(error)].some(({ type }) => type === 'INCONSISTENT_GROUP_PROTOCOL')) return takenError(group, error);
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

  /** Returns why it ended. */
  async #live(consumer: MemberConsumer): Promise<Error> {
    try {
      await consumer.connect();
      if (this.#joins === 0) await this.#agreed(consumer);
      this.#stopped.signal.throwIfAborted();
      // A refusal by the group is a response, too.
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
   * Takes a former member of this process, whose consumer crashed, out of the group: a join then need not wait for its session to end. But
   * not before the group has the new consumer's request to join; otherwise, the others would get this process's partitions for a moment.
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
      return [...chain(error)].some(({ type }) => type === 'UNKNOWN_MEMBER_ID');
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

/** A consumer whose broker doesn't respond takes long to end; after a session it no longer owns anything. */
async function atMost(ending: Promise<void>, limitMs: number): Promise<void> {
  const enough = new AbortController();
  await Promise.race([ending, sleep(limitMs, undefined, { signal: enough.signal }).catch(() => undefined)]);
  enough.abort();
}

function takenError(group: string, cause: Error): TopicLogError {
  const message =
    `Group "${group}" is in use by other consumers than Headgate's, or by another release of Headgate. If you have just killed them, wait until their ` +
    'session timeout has passed (usually 45 s), then start again. Otherwise, choose another group.';
  return new TopicLogError({ code: 'HEADGATE_GROUP_TAKEN', message }, { cause });
}
