import type { TopicPartition } from '../../topic-log.ts';
import { type Clock, SessionClock } from './session-clock.ts';

export interface GroupSessionOptions {
  readonly sessionTimeoutMs: number;
  readonly onAssigned: (partitions: readonly TopicPartition[]) => void;
  /** Called when other members may own the partitions. */
  readonly onUncertain: () => void;
  /** Called when a session has passed without a response; `onUncertain` is called too. */
  readonly onSilence: () => void;
  readonly clock?: Clock;
}

/** The group's latest response to a join: the member's ID and its partitions. */
export interface Joined {
  readonly memberId: string;
  readonly partitions: readonly TopicPartition[];
  /** Time between the request and the response, ms. */
  readonly ageMs: number;
}

/** Tracks the partitions of this process while its session with the group can be alive. The session outlasts connections, which are replaced. */
export class GroupSession {
  readonly #options: GroupSessionOptions;
  readonly #session: SessionClock;
  /** Runs from each join request: the broker keeps members that wait for a join to end, although they send no heartbeats. */
  readonly #joining: SessionClock;
  #joined: Joined | undefined;
  #lost = true;
  #closed = false;
  #watch: NodeJS.Timeout | undefined;

  constructor(options: GroupSessionOptions) {
    this.#options = options;
    const clock = { timeoutMs: options.sessionTimeoutMs, ...(options.clock && { clock: options.clock }) };
    this.#session = new SessionClock(clock);
    this.#joining = new SessionClock(clock);
  }

  /** Undefined while this process isn't a member. */
  get memberId(): string | undefined {
    return this.#lost ? undefined : this.#joined?.memberId;
  }

  /**
   * Returns the partitions to claim in a join request that is about to be sent: none after a session without a response, because other members
   * may own them by now.
   */
  join(): readonly TopicPartition[] {
    if (this.#session.isOver()) return [];
    this.#joining.proven(0);
    return this.#joined?.partitions ?? [];
  }

  joined(joined: Joined): void {
    this.#joined = joined;
    this.#session.proven(joined.ageMs);
    this.#lost = this.#session.isOver();
    this.#tell();
    this.#watchOver();
  }

  /** Notes that the broker has accepted a heartbeat that was sent `ageMs` ago. */
  alive(ageMs: number): void {
    this.#session.proven(ageMs);
    if (!this.#lost || this.#session.isOver() || this.#joined === undefined) return;
    this.#lost = false;
    this.#tell();
    this.#watchOver();
  }

  close(): void {
    this.#closed = true;
    this.#lost = true;
    clearTimeout(this.#watch);
  }

  #watchOver(): void {
    clearTimeout(this.#watch);
    if (this.#closed || this.#lost) return;
    const leftMs = Math.max(this.#session.leftMs(), this.#joining.leftMs());
    this.#watch = setTimeout(() => {
      if (this.#session.isOver() && this.#joining.isOver()) {
        this.#lost = true;
        this.#tell();
        this.#options.onSilence();
      } else this.#watchOver();
    }, Math.ceil(leftMs));
  }

  /** Calls the callback later, because an error thrown there must not interrupt the join. */
  #tell(): void {
    const partitions = this.#lost ? undefined : (this.#joined?.partitions ?? []);
    queueMicrotask(() => {
      if (this.#closed) return;
      if (partitions === undefined) this.#options.onUncertain();
      else this.#options.onAssigned(partitions);
    });
  }
}
