import { BusyLog } from './busy-log.ts';
import { type Clock, systemClock } from './clock.ts';
import type { BudgetSnapshot } from './journal.ts';

export interface RateBudgetOptions {
  /** Requests (or units of weight) that may start per window. */
  readonly limit: number;
  /** The window's length in ms. */
  readonly windowMs: number;
  /** Added to each window for clock drift and early timers. Default: 500 ppm of the window + 5 ms. */
  readonly guardMs?: number;
  /** Longest a request that was sent and then given up may take to be counted by the service, in ms. Default 5,000. */
  readonly maxDelayMs?: number;
  /** Longest a slot may wait between its taking and its sending, in ms. Default: as long as it likes. */
  readonly leaseMs?: () => number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

/**
 * How many requests may start per window, as a rolling log anchored at responses.
 *
 * The service counted a request somewhere between its sending and its answer, so a slot is busy until the answer plus a
 * window: safe on windows that start with the first request, on wall-clock windows and on rolling ones alike. Nothing is taken
 * off for the way back: a service may count right before it answers, and the next request right when it comes.
 */
export interface RateBudget {
  readonly limit: number;
  readonly windowMs: number;
  /** Weight in use now: under way, or answered less than a window ago, by us or (as far as it was observed) by others. */
  readonly used: number;
  /**
   * The monotonic ms at which `weight` may be taken; now or earlier when it may be taken at once, `Infinity` while only the
   * end of requests under way can tell. Throws a `RangeError` for a weight above the limit: it could never be taken.
   */
  freeAt(weight?: number): number;
  /** Takes a slot. Throws a `RangeError` unless `freeAt` has come. */
  take(weight?: number): Slot;
  /** Lets nothing start before the monotonic instant `untilMs`: the service has said so. Never shortens an earlier hold. */
  holdUntil(untilMs: number): void;
  /** Takes note of what an answer says of this budget. It only ever tightens, and only by what our own requests don't explain. */
  observe(evidence: BudgetEvidence): void;
  /** How it stands, to be continued by another process. */
  snapshot(): BudgetSnapshot;
  /** Continues where another process stood. */
  restore(snapshot: BudgetSnapshot): void;
}

/** What an answer says of a budget. */
export interface BudgetEvidence {
  /** Requests left in the service's window. */
  readonly remaining: number;
  /** From the answer to the end of that window, in ms, by the service's own clock. */
  readonly resetInMs: number;
  /** For how long the answer may have been on its way: its round trip, in ms. Default 0. */
  readonly ageMs?: number;
}

/** One grant of a budget, from its taking until the service can no longer hold it against us. */
export interface Slot {
  /** Its first byte is about to go to the wire. False when its lease is over: it must not be sent, and is given back by `aborted`. */
  sent(): boolean;
  /** An answer to it has come. */
  answered(): void;
  /** It was given up: at once free again when it was never sent, else busy until the service must have counted it plus a window. */
  aborted(): void;
}

/** Pairs of a snapshot at most. */
const SNAPSHOT_PAIRS = 64;
/** Resets and dates are whole seconds: by so much the end of a window may be misjudged. */
const HEADER_GRAIN_MS = 1_000;

/** Makes a budget. Throws a `RangeError` for a limit or window that isn't positive. */
export function rateBudget(options: RateBudgetOptions): RateBudget {
  const { limit, windowMs } = options;
  if (!Number.isSafeInteger(limit) || limit < 1) throw new RangeError(`rateBudget: limit must be a whole number above 0, got ${limit}`);
  if (!(windowMs > 0 && windowMs < Infinity)) throw new RangeError(`rateBudget: windowMs must be a positive number of ms, got ${windowMs}`);
  return new RollingBudget(options);
}

/** A class, so that a hundred thousand of them share their methods. */
class RollingBudget implements RateBudget {
  readonly limit: number;
  readonly windowMs: number;
  readonly #guardMs: number;
  readonly #maxDelayMs: number;
  readonly #leaseMs: (() => number) | undefined;
  readonly #clock: Clock;
  readonly #log: BusyLog;
  readonly #underWay = new Set<RollingSlot>();
  #weightUnderWay = 0;
  #heldUntil = -Infinity;
  #foreign: { until: number; weight: number } = { until: -Infinity, weight: 0 };

  constructor({ limit, windowMs, guardMs = windowMs * 500e-6 + 5, maxDelayMs = 5_000, leaseMs, clock = systemClock() }: RateBudgetOptions) {
    this.limit = limit;
    this.windowMs = windowMs;
    this.#guardMs = guardMs;
    this.#maxDelayMs = maxDelayMs;
    this.#leaseMs = leaseMs;
    this.#clock = clock;
    this.#log = new BusyLog({ limit, windowMs });
  }

  get used(): number {
    return this.#weightUnderWay + this.#log.busy(this.#clock.monotonicMs());
  }

  freeAt(weight = 1): number {
    if (!(weight >= 1 && weight <= this.limit))
      throw new RangeError(`rateBudget: a weight of ${weight} does not fit a limit of ${this.limit}`);
    return Math.max(this.#heldUntil, this.#log.freeAt(this.limit - this.#weightUnderWay - weight, this.#clock.monotonicMs()));
  }

  take(weight = 1): Slot {
    if (this.freeAt(weight) > this.#clock.monotonicMs())
      throw new RangeError(`rateBudget: no ${weight} of ${this.limit} free now; ask freeAt first`);
    const slot = new RollingSlot({ weight, clock: this.#clock, leaseMs: this.#leaseMs?.() ?? Infinity, settle: this.#settle });
    this.#underWay.add(slot);
    this.#weightUnderWay += weight;
    return slot;
  }

  holdUntil(untilMs: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, untilMs);
  }

  observe({ remaining, resetInMs, ageMs = 0 }: BudgetEvidence): void {
    // Headers that lie are no evidence.
    if (!Number.isSafeInteger(remaining) || remaining < 0 || !(resetInMs > 0 && resetInMs <= this.windowMs + HEADER_GRAIN_MS)) return;
    const now = this.#clock.monotonicMs();
    if (this.#foreign.until <= now) this.#foreign = { until: -Infinity, weight: 0 };
    // Our requests answered since the service's window began may be counted in it; those under way may be, too.
    const endOfOurs = now - ageMs + resetInMs - 2 * HEADER_GRAIN_MS;
    const ours = this.#weightUnderWay + this.#log.busyAt(endOfOurs) - (this.#foreign.until >= endOfOurs ? this.#foreign.weight : 0);
    const others = Math.min(this.limit, this.limit - remaining - ours);
    if (others <= this.#foreign.weight) return;
    const until = Math.max(this.#foreign.until, now + resetInMs + HEADER_GRAIN_MS);
    this.#log.add(until, others - this.#foreign.weight);
    this.#foreign = { until, weight: others };
  }

  snapshot(): BudgetSnapshot {
    const now = this.#clock.monotonicMs();
    const busy = [...this.#log.left(now, SNAPSHOT_PAIRS)];
    const longest = this.#maxDelayMs + this.windowMs + this.#guardMs;
    for (const { weight, takenAt, leaseMs } of this.#underWay) {
      const ms = (leaseMs < Infinity ? leaseMs : 0) + longest - (now - takenAt);
      if (ms > 0) busy.push([ms, weight]);
    }
    busy.sort(([a], [b]) => a - b);
    const heldMs = this.#heldUntil - now;
    return {
      windowMs: this.windowMs,
      busy: busy.map(([ms, weight]) => [Math.ceil(ms), weight]),
      ...(heldMs > 0 && { heldMs: Math.ceil(heldMs) }),
    };
  }

  restore({ windowMs, busy, heldMs = 0 }: BudgetSnapshot): void {
    const now = this.#clock.monotonicMs();
    // What was counted under a shorter window is busy for the longer one.
    const moreMs = Math.max(0, this.windowMs - windowMs);
    for (const [ms, weight] of busy) if (ms + moreMs > 0) this.#log.add(now + ms + moreMs, weight);
    if (heldMs > 0) this.holdUntil(now + heldMs);
  }

  readonly #settle = (slot: RollingSlot, how: 'answered' | 'aborted'): void => {
    if (!this.#underWay.delete(slot)) return;
    const { weight, wasSent } = slot;
    this.#weightUnderWay -= weight;
    if (how === 'aborted' && !wasSent) return;
    const countedWithinMs = how === 'answered' ? 0 : this.#maxDelayMs;
    this.#log.add(this.#clock.monotonicMs() + countedWithinMs + this.windowMs + this.#guardMs, weight);
  };
}

interface RollingSlotOptions {
  readonly weight: number;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly settle: (slot: RollingSlot, how: 'answered' | 'aborted') => void;
}

class RollingSlot implements Slot {
  readonly weight: number;
  readonly leaseMs: number;
  readonly takenAt: number;
  wasSent = false;
  readonly #takenAtEpoch: number;
  readonly #options: RollingSlotOptions;

  constructor(options: RollingSlotOptions) {
    this.weight = options.weight;
    this.leaseMs = options.leaseMs;
    this.takenAt = options.clock.monotonicMs();
    this.#takenAtEpoch = options.clock.epochMs();
    this.#options = options;
  }

  sent(): boolean {
    const { clock } = this.#options;
    const now = clock.monotonicMs();
    // A process that was frozen sees the one clock go on, a machine that was suspended the other.
    if (Math.max(now - this.takenAt, clock.epochMs() - this.#takenAtEpoch) > this.leaseMs) return false;
    this.wasSent = true;
    return true;
  }

  answered(): void {
    this.#options.settle(this, 'answered');
  }

  aborted(): void {
    this.#options.settle(this, 'aborted');
  }
}
