import type { TopicPartition } from '../../topic-log.ts';

export interface GroupSessionOptions {
  readonly sessionTimeoutMs: number;
  readonly onAssigned: (partitions: readonly TopicPartition[]) => void;
  /** Called when other members may own the partitions. */
  readonly onUncertain: () => void;
  /** Called when a session has passed without a response; `onUncertain` is called too. */
  readonly onSilence: () => void;
  /** The wall clock, milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number;
}

/** The group's latest response to a join: the member's ID and its partitions. */
export interface Joined {
  readonly memberId: string;
  readonly partitions: readonly TopicPartition[];
  /** Time between the request and the response, ms. */
  readonly ageMs: number;
}

/**
 * Tracks the partitions of this process while its session with the group can be alive. The session outlasts connections, which are replaced. It counts
 * from the time when a request was sent, while the broker counts from the time when it received the request, so it ends here first.
 */
export class GroupSession {
  readonly #options: GroupSessionOptions;
  readonly #now: () => number;
  #joined: Joined | undefined;
  /** When the last accepted request was sent, on the wall clock: a timer can stand still while the machine is suspended. */
  #aliveMs = -Infinity;
  #isLost = true;
  #closed = false;
  #watch: NodeJS.Timeout | undefined;

  constructor(options: GroupSessionOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Undefined while this process isn't a member. */
  get memberId(): string | undefined {
    return this.#isLost ? undefined : this.#joined?.memberId;
  }

  /**
   * Returns the partitions to claim in a join request that is about to be sent: none after a session without a response, because other members
   * may own them by now.
   */
  join(): readonly TopicPartition[] {
    if (this.#isLost || this.#leftMs() <= 0) return [];
    // The broker keeps members that wait for a join to end, although they send no heartbeats.
    this.#watchFor(this.#options.sessionTimeoutMs);
    return this.#joined?.partitions ?? [];
  }

  joined(joined: Joined): void {
    this.#joined = joined;
    this.#prove(joined.ageMs);
    this.#tell();
  }

  /** Notes that the broker has accepted a heartbeat that was sent `ageMs` ago. */
  alive(ageMs: number): void {
    const wasLost = this.#isLost;
    this.#prove(ageMs);
    if (this.#isLost !== wasLost) this.#tell();
  }

  close(): void {
    this.#closed = true;
    this.#isLost = true;
    clearTimeout(this.#watch);
  }

  #leftMs(): number {
    return this.#aliveMs + this.#options.sessionTimeoutMs - this.#now();
  }

  #prove(ageMs: number): void {
    this.#aliveMs = this.#now() - Math.max(0, ageMs);
    this.#isLost = this.#closed || this.#leftMs() <= 0;
    this.#watchFor(this.#leftMs());
  }

  #watchFor(ms: number): void {
    clearTimeout(this.#watch);
    if (this.#isLost) return;
    this.#watch = setTimeout(() => {
      this.#isLost = true;
      this.#tell();
      this.#options.onSilence();
    }, Math.ceil(ms));
  }

  /** Calls the callback later, because an error thrown there must not interrupt the join. */
  #tell(): void {
    const partitions = this.#isLost ? undefined : (this.#joined?.partitions ?? []);
    queueMicrotask(() => {
      if (this.#closed) return;
      if (partitions === undefined) this.#options.onUncertain();
      else this.#options.onAssigned(partitions);
    });
  }
}
