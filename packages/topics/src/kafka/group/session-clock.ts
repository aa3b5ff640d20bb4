/** A time on two clocks, because the monotonic clock can stop while the machine is suspended, and the wall clock can be changed. */
export interface Instant {
  /** Milliseconds since the epoch. */
  readonly wallMs: number;
  /** Milliseconds since an arbitrary start. */
  readonly monotonicMs: number;
}

export type Clock = () => Instant;

const systemClock: Clock = () => ({ wallMs: Date.now(), monotonicMs: performance.now() });

/**
 * Computes whether a member's session with its group can be alive. It errs towards "over": it counts from the time when a request was sent, while the
 * broker counts from the time when it received the request.
 */
export class SessionClock {
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  #proof: Instant | undefined;

  constructor(options: { readonly timeoutMs: number; readonly clock?: Clock }) {
    this.#timeoutMs = options.timeoutMs;
    this.#clock = options.clock ?? systemClock;
  }

  /** Notes that the broker has accepted a request of the member that was sent `ageMs` ago. */
  proven(ageMs: number): void {
    const { wallMs, monotonicMs } = this.#clock();
    const age = Math.max(0, ageMs);
    this.#proof = { wallMs: wallMs - age, monotonicMs: monotonicMs - age };
  }

  /** Remaining time of the session, ms, by the clock that shows more elapsed time; 0 when the session is over. */
  leftMs(): number {
    if (this.#proof === undefined) return 0;
    const now = this.#clock();
    const elapsedMs = Math.max(now.wallMs - this.#proof.wallMs, now.monotonicMs - this.#proof.monotonicMs);
    return Math.max(0, this.#timeoutMs - elapsedMs);
  }

  isOver(): boolean {
    return this.leftMs() === 0;
  }
}
