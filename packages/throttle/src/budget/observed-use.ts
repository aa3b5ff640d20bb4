/** The use by other clients that one response has shown. `weight` is 0 or less if our own requests explain everything. */
export interface Sighting {
  readonly weight: number;
  /** Monotonic ms from which one request may start despite this use: usually the end of the service's window. */
  readonly resetAt: number;
  /** Monotonic ms from which a response that leaves more capacity lowers `weight`. */
  readonly doubtedFrom: number;
  /** Monotonic ms at which this use expires. */
  readonly until: number;
  /** True if the other clients may be our own earlier process. */
  readonly maybeOurs: boolean;
}

export interface ObservedAnswer {
  readonly limit: number;
  readonly remaining: number;
  readonly refused: boolean;
  /** Weight of the answered request; 0 if the service refused it. */
  readonly weight: number;
  /** Weight of all our requests that the service may have counted when it answered. */
  readonly own: number;
  readonly sentAt: number;
  readonly answeredAt: number;
  /** Monotonic ms by which the service's window has ended. */
  readonly resetAt: number;
  /** Time for which a request that is counted now stays busy, in ms. */
  readonly busyForMs: number;
  /** True if the service may still count requests of an earlier process that left no journal. */
  readonly maybeOurs: boolean;
}

/** Above this number of observations, the two lightest become one, with the larger weight and the later end. */
const MOST_SIGHTINGS = 16;

/**
 * Requests of other clients of the credential, as far as responses show them. Instants are monotonic ms.
 *
 * ```text
 *   |<-------------------- limit -------------------->|
 *   |  own: answered, in flight  |  others  | remaining |
 * ```
 *
 * A response shows that other clients have used at least `limit - remaining - own`. `own` is the weight of all our requests that the
 * service may have counted by then: those answered in its window, the request itself, and those in flight. A credential that no other
 * client uses loses nothing.
 *
 * ```text
 *   seen                     the same is expected      lapses
 *    |------- window -----------------|
 *    |------- window -----------------|---- and if it cost a refusal, up to another window ----|
 * ```
 *
 * The greatest weight seen during the last window counts. On a rolling window, the use stays that long. On other windows, the same clients
 * are expected to return at the same time. An observation that cost a refusal stays for up to another window, until a response leaves more.
 * Otherwise other clients that come after our last response of each window would cost a refusal in each.
 *
 * For one window after a start without a journal, the other clients may be our own earlier process, whose requests won't come again. So one
 * request may start at the reset, and its response is believed.
 */
export class ObservedUse {
  /** In order of descending weights and ascending ends. */
  #sightings: Sighting[] = [];
  #remaining = 0;
  #remainedAt = -Infinity;

  /** Records a response. Returns the use by other clients that it shows. */
  answered({ limit, remaining, refused, weight, own, sentAt, answeredAt, resetAt, busyForMs, maybeOurs }: ObservedAnswer): Sighting {
    const most = Math.max(0, limit - remaining - weight);
    const seen = this.#sightings.map((one) => {
      if (one.doubtedFrom > answeredAt) return one;
      return { ...one, weight: Math.min(one.weight, most), resetAt: one.maybeOurs ? resetAt : one.resetAt };
    });
    const lapsesAt = answeredAt + busyForMs;
    const unexplained = limit - remaining - own;
    const doubtedFrom = maybeOurs ? Math.min(resetAt, lapsesAt) : lapsesAt;
    const until = refused ? lapsesAt + busyForMs : lapsesAt;
    const shown = { weight: unexplained, resetAt, doubtedFrom, until, maybeOurs };
    this.#keep([...seen, shown], answeredAt);
    // Among responses to requests in flight together, the one that leaves the smallest number is taken as the latest.
    if (sentAt > this.#remainedAt || remaining <= this.#remaining) {
      this.#remaining = remaining;
      this.#remainedAt = answeredAt;
    }
    return shown;
  }

  /**
   * Corrects an observation when the answered request turns out to cost `more` than counted, or less if `more` is negative. Other clients
   * then used that much less, or more.
   */
  corrected(shown: Sighting, more: number): Sighting {
    const corrected = { ...shown, weight: shown.weight - more };
    this.#keep([...this.#sightings.filter((one) => one !== shown), corrected], -Infinity);
    return corrected;
  }

  /** Records the end of a request that the service may have counted after the last response. */
  lost(weight: number): void {
    this.#remaining -= weight;
  }

  /** Returns the weight that the last response leaves; 0 if that response is older than `ageMs`, or missing. */
  remaining(now: number, ageMs: number): number {
    return now - this.#remainedAt <= ageMs ? this.#remaining : 0;
  }

  /** Returns the use by others from `now` on: descending weights, each with its end. */
  from(now: number): readonly Sighting[] {
    return this.#sightings.filter(({ until }) => until > now);
  }

  left(now: number): (readonly [ms: number, weight: number])[] {
    return this.from(now).map(({ weight, until }) => [Math.ceil(until - now), weight] as const);
  }

  /** Adds the use that another process observed, for at most `longestMs`. */
  restore(left: readonly (readonly [ms: number, weight: number])[], now: number, longestMs: number): void {
    const restored = left.map(([ms, weight]) => {
      const until = now + Math.min(ms, longestMs);
      return { weight, until, doubtedFrom: until, resetAt: until, maybeOurs: false };
    });
    this.#keep([...this.#sightings, ...restored], now);
  }

  /** Drops observations that have expired, show no use, or are covered by one that is at least as heavy and lasts at least as long. */
  #keep(sightings: readonly Sighting[], now: number): void {
    const sorted = sightings.filter(({ until }) => until > now).toSorted((a, b) => b.until - a.until);
    let heaviest = 0;
    const kept = sorted.filter(({ weight }) => {
      if (weight <= heaviest) return false;
      heaviest = weight;
      return true;
    });
    const [lightest, heavier, ...others] = kept;
    const merged =
      kept.length > MOST_SIGHTINGS && lightest !== undefined && heavier !== undefined
        ? [{ ...lightest, weight: heavier.weight }, ...others]
        : kept;
    this.#sightings = merged.toReversed();
  }
}
