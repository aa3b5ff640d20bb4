import { ABOVE_0, rangeChecks } from '../number-checks.ts';
import { SlidingWindowLog } from './sliding-window-log.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { BudgetSnapshot, GrantsAhead } from './journal.ts';
import { ObservedUse, type Sighting } from './observed-use.ts';

/** Options of {@link rateBudget}. */
export interface RateBudgetOptions {
  /** Requests, or units of weight, that may start per window. */
  readonly limit: number;
  /** The window's length in ms. */
  readonly windowMs: number;
  /** Added to each window, in ms, for clock drift and early timers. Default: 500 ppm of the window + 5 ms. */
  readonly guardMs?: number | undefined;
  /** Maximum delay, in ms, until the service counts a request that was sent and then given up. Default 5,000. */
  readonly maxDelayMs?: number | undefined;
  /** Returns the maximum time from taking a slot to sending its request, in ms. Default: no limit. */
  readonly leaseMs?: (() => number) | undefined;
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

/** A response's report about a budget of the service. */
export interface BudgetEvidence {
  /** Requests, or units of weight, left in the service's window. */
  readonly remaining: number;
  /** Time from the response to the end of that window, in ms, by the service's own clock. */
  readonly resetInMs: number;
  /** Maximum requests per window of the service, if the response reports it. The budget ignores this number. */
  readonly limit?: number;
  /**
   * True if the service refused the request because of its rate limit. The budget assumes that such a request didn't lower `remaining`.
   * Default false.
   */
  readonly refused?: boolean;
}

/** Part of a budget that `RateBudget.take` reserved for one request. Report the request's progress to it. */
export interface Slot {
  /**
   * Call it right before you send the request's first byte. Returns false if the request must not be sent any more: the budget was put on
   * hold since the slot was taken, a response has shown that its capacity is gone, or the slot's lease has expired. Then call `aborted` to
   * free the slot, and take another one.
   */
  sent(): boolean;
  /**
   * Call it when the response arrives, with what the response reports about the budget. The budget leaves other clients the use that our
   * own requests don't explain. Evidence never frees a slot that one of our requests uses.
   */
  answered(evidence?: BudgetEvidence): void;
  /**
   * Call it after `answered` if only the response shows the request's cost: a whole number from 0, even above the limit. The budget then
   * counts the slot as if it had been taken with that weight. Throws a `RangeError` for any other number.
   */
  corrected(weight: number): void;
  /**
   * Call it if the request was given up. If it was never sent, the slot is free at once. Otherwise the slot stays busy, because the service
   * may still count the request.
   */
  aborted(): void;
  /** Call it if no byte of the request was sent although `sent` returned true. The slot is free again at once. */
  unsent(): void;
}

/** Maximum assumed error of a clock's speed: 500 parts per million. */
const DRIFT = 500e-6;
/** Maximum number of pairs (ms until free, weight) in a snapshot's `busy`, not counting those of requests in flight. */
const SNAPSHOT_PAIRS = 64;
/**
 * Resets are at whole minutes, and their slots are free a few seconds later. So this much earlier is before the reset, and after any other.
 */
const RESET_GRAIN_MS = 55_000;
/** Reset headers are in whole seconds, so the end of the service's window may be off by this much. */
const HEADER_GRAIN_MS = 1_000;
/**
 * A request waits at most `windowMs / limit / PATIENCE` for a response that confirms capacity, so that slow responses waste little budget.
 */
const PATIENCE = 10;

/** Creates a budget. Throws a `RangeError` for an invalid number. */
export function rateBudget(options: RateBudgetOptions): RateBudget {
  const { windowMs } = options;
  rangeChecks('rateBudget').number({ windowMs }, ABOVE_0);
  const { guardMs = windowMs * DRIFT + 5 } = options;
  checkBudget('rateBudget', options);
  const busyForMs = (countedWithinMs: number): number => countedWithinMs + windowMs + guardMs;
  return new RateBudget({ windowMs, resets: null, endGrainMs: 0, busyForMs, setBackMs: () => 0 }, options);
}

/** Throws a `RangeError` for a number with which the budget would have no limit, or never free a slot. `name`: the function's. */
export function checkBudget(
  name: string,
  { limit, guardMs = 0, maxDelayMs = 0, leaseMs = () => 0 }: Pick<RateBudgetOptions, 'limit' | 'guardMs' | 'maxDelayMs' | 'leaseMs'>,
): void {
  const check = rangeChecks(name);
  check.whole({ limit }, 1);
  check.number({ guardMs, maxDelayMs }, 0);
  check.number({ 'the result of leaseMs': leaseMs() }, 0, Infinity);
}

/** The windows of a budget: rolling ones, or those between the resets of a calendar. */
export interface WindowRule {
  /** Length of a window, in ms; for a calendar, the maximum. */
  readonly windowMs: number;
  /** When the budget resets, as text that is the same only for the same instants. Null for a rolling window. */
  readonly resets: string | null;
  /**
   * Two calculations of the same window's end can differ by this much, in ms, if the wall clock is corrected in between. 0 for a rolling
   * window.
   */
  readonly endGrainMs: number;
  /**
   * Returns for how long a slot is busy, in ms from now, if its request is counted within `countedWithinMs`, which is negative for an
   * instant in the past.
   */
  readonly busyForMs: (countedWithinMs: number) => number;
  /** Returns how far the wall clock was set back, in ms. Resets are that much later than they seemed before. */
  readonly setBackMs: () => number;
}

/**
 * Limits how many requests start per window. A budget of `rateBudget` keeps a rolling log of when used slots become free.
 *
 * ```text
 *   sent        counted         answered                        the slot is free
 *    |----- somewhere in here -----|----------- window -----------|
 * ```
 *
 * The service counted a request at some moment between its sending and its response, so a slot is busy until the response plus a window.
 * This is safe on windows that start with the first request, on wall-clock windows and on rolling ones. The response's travel time isn't
 * subtracted: a service may count one request right before it answers, and the next one as soon as it arrives.
 *
 * If responses report the remaining requests, they reveal what other clients of the credential use, and the budget leaves them that share.
 *
 * ```text
 *   response: 3 remain     others may have used some since then
 *    |----------------------------|-- one request goes alone --|-- its response: the rest follow --|
 * ```
 *
 * While requests are in flight, the next one then also waits until a recent response leaves capacity for all of them. This wait is at most
 * a tenth of a request's share of the window, so that slow responses waste little budget.
 */
export class RateBudget {
  /** Requests, or units of weight, that may start per window. */
  readonly limit: number;
  /** The window's length in ms. 24 hours for a daily budget, 31 days for a monthly one. */
  readonly windowMs: number;
  readonly #rule: WindowRule;
  readonly #maxDelayMs: number;
  readonly #leaseMs: (() => number) | undefined;
  readonly #clock: Clock;
  readonly #log: SlidingWindowLog;
  readonly #inFlight = new Set<Taken>();
  #weightInFlight = 0;
  /** The part of `#weightInFlight` whose requests were sent. */
  #weightSent = 0;
  #heldUntil = -Infinity;
  /** Monotonic ms by which all slots are free that restored snapshots no longer list. */
  #freedBefore = -Infinity;
  /** Monotonic ms until which the service may still count requests of an earlier process that left no journal. */
  #forgottenUntil: number;
  #lastTakenAt = -Infinity;
  /** The use by other clients. Undefined until the first report of a response or snapshot. */
  #others: ObservedUse | undefined;

  constructor(
    rule: WindowRule,
    { limit, maxDelayMs = 5_000, leaseMs, clock = systemClock() }: Omit<RateBudgetOptions, 'windowMs' | 'guardMs'>,
  ) {
    this.limit = limit;
    this.windowMs = rule.windowMs;
    this.#rule = rule;
    this.#maxDelayMs = maxDelayMs;
    this.#leaseMs = leaseMs;
    this.#clock = clock;
    this.#forgottenUntil = clock.monotonicMs() + rule.windowMs;
    // The slots of a calendar's window have almost the same end.
    this.#log = new SlidingWindowLog(limit, rule.windowMs, rule.endGrainMs > 0 ? rule.endGrainMs : undefined, rule.setBackMs);
  }

  /** Weight in use now, by our own requests and, as far as responses show it, by other clients. */
  get used(): number {
    const now = this.#clock.monotonicMs();
    const besideOthers = this.#log.busy(now, 'unrefused') + (this.#others?.from(now)[0]?.weight ?? 0);
    return this.#weightInFlight + Math.max(this.#log.busy(now), besideOthers);
  }

  /**
   * Returns the monotonic ms at which `weight` may be taken; now or earlier if it may be taken at once, `Infinity` while that depends on
   * requests in flight. Throws a `RangeError` for a weight below 1 or above the limit. `now` defaults to the clock's time. Pass the same
   * `now` to `take`, because capacity that is free now can be gone a moment later.
   */
  freeAt(weight = 1, now: number = this.#clock.monotonicMs()): number {
    this.#checkWeight(weight);
    return Math.max(this.#heldUntil, this.#besideOthers(weight, this.#weightInFlight, now), this.#confirmedAt(weight, now));
  }

  /**
   * Returns the monotonic ms by which a slot taken now is free again, if the response comes at once. For a daily or monthly budget, this is
   * the reset, without the extra wait after it.
   */
  freeAgainAt(): number {
    return this.#clock.monotonicMs() + this.#rule.busyForMs(0) - this.#rule.endGrainMs;
  }

  #checkWeight(weight: number): void {
    if (typeof weight !== 'number' || !(weight >= 1 && weight <= this.limit))
      throw new RangeError(`rateBudget: a weight of ${weight} exceeds the limit of ${this.limit}`);
  }

  /**
   * Returns the monotonic ms at which `weight` fits into the limit, next to our own use, `inFlight` of it in flight, and the expected use
   * by others.
   */
  #besideOthers(weight: number, inFlight: number, now: number): number {
    const room = this.limit - inFlight - weight;
    // Services that report the remaining requests are assumed not to count refused ones.
    let from = this.#log.freeAt(room, now);
    for (const { weight: others, resetAt, until, maybeOurs } of this.#others?.from(now) ?? []) {
      const beside = this.#log.freeAt(room - others, now, 'unrefused');
      // However much other clients use, one request may start in the service's next window, to find out what they use now.
      const own = maybeOurs && inFlight === 0 ? now : this.#log.freeAt(-inFlight, now, 'unrefused');
      const alone = Math.max(resetAt, own);
      const at = Math.max(from, Math.min(beside, alone));
      if (at < until) return at;
      from = Math.max(from, until);
    }
    return from;
  }

  /** Returns the monotonic ms until which a request waits for a response that confirms capacity for it; `now` if it needn't wait. */
  #confirmedAt(weight: number, now: number): number {
    if (this.#others === undefined || this.#weightInFlight === 0) return now;
    const patienceMs = this.windowMs / (PATIENCE * this.limit);
    const isConfirmed = this.#others.remaining(now, patienceMs) - this.#weightInFlight >= weight;
    return isConfirmed ? now : this.#lastTakenAt + patienceMs;
  }

  /** Takes a slot. Throws a `RangeError` if `weight` isn't free at `now`, which defaults to the clock's time. */
  take(weight = 1, now: number = this.#clock.monotonicMs()): Slot {
    if (!(this.freeAt(weight, now) <= now))
      throw new RangeError(`rateBudget: ${weight} of ${this.limit} isn't free now; check freeAt first`);
    const slot: Taken = {
      weight,
      leaseMs: this.#leaseMs?.() ?? Infinity,
      takenAt: this.#clock.monotonicMs(),
      takenAtEpoch: this.#clock.epochMs(),
      sentAt: undefined,
      charged: weight,
      until: -Infinity,
      setBackMs: 0,
      wasRefused: false,
      shown: undefined,
    };
    this.#inFlight.add(slot);
    this.#weightInFlight += weight;
    this.#lastTakenAt = slot.takenAt;
    return {
      sent: () => this.#send(slot),
      answered: (evidence) => this.#settle(slot, 'answered', evidence),
      corrected: (cost) => this.#correct(slot, cost),
      aborted: () => this.#settle(slot, 'aborted'),
      unsent: () => this.#settle(slot, 'unsent'),
    };
  }

  /** Lets no request start before the monotonic instant `untilMs`. Doesn't shorten an earlier hold. Throws a `RangeError` for `NaN`. */
  holdUntil(untilMs: number): void {
    rangeChecks('rateBudget').number({ untilMs }, -Infinity, Infinity);
    this.#heldUntil = Math.max(this.#heldUntil, untilMs);
  }

  #isPossible({ remaining, resetInMs }: BudgetEvidence): boolean {
    return (
      Number.isSafeInteger(remaining) &&
      remaining >= 0 &&
      typeof resetInMs === 'number' &&
      resetInMs >= 0 &&
      resetInMs <= this.windowMs + HEADER_GRAIN_MS
    );
  }

  #observe({ remaining, resetInMs, refused = false }: BudgetEvidence, { weight, takenAt, sentAt = takenAt }: Taken, now: number): Sighting {
    this.#others ??= new ObservedUse();
    const resetAt = now + resetInMs;
    return this.#others.answered({
      limit: this.limit,
      remaining,
      refused,
      weight: refused ? 0 : weight,
      // Weight of our requests that the service may have counted in its window: those sent, and those answered since about the window's
      // start.
      own: this.#weightSent + this.#log.unrefusedAt(resetAt - (now - sentAt) - 2 * HEADER_GRAIN_MS),
      sentAt,
      answeredAt: now,
      resetAt: resetAt + HEADER_GRAIN_MS,
      busyForMs: this.#rule.busyForMs(0),
      maybeOurs: sentAt < this.#forgottenUntil,
    });
  }

  /**
   * Returns the state of the budget, from which another process can continue with `restore`. Counts the grants of `ahead` as requests in
   * flight. Leaves out what was restored from a snapshot that is `elsewhere`.
   */
  snapshot(ahead?: GrantsAhead): BudgetSnapshot {
    const now = this.#clock.monotonicMs();
    const busy = this.#log.left(now, SNAPSHOT_PAIRS);
    for (const { weight, takenAt, leaseMs } of this.#inFlight) {
      const countedWithinMs = (leaseMs < Infinity ? leaseMs : 0) + this.#maxDelayMs - (now - takenAt);
      busy.push([this.#rule.busyForMs(Math.max(0, countedWithinMs)), weight]);
    }
    if (ahead !== undefined) busy.push([this.#rule.busyForMs(ahead.withinMs + this.#maxDelayMs), ahead.weight]);
    const heldMs = this.#heldUntil - now;
    const freedMs = now - Math.max(this.#log.freedAt(now), this.#freedBefore);
    return {
      windowMs: this.windowMs,
      resets: this.#rule.resets,
      busy: busy.map(([ms, weight]) => [Math.ceil(ms), weight]),
      ...(this.#others !== undefined && { others: this.#others.left(now) }),
      ...(heldMs > 0 && { heldMs: Math.ceil(heldMs) }),
      freedMs: freedMs < Infinity ? Math.floor(freedMs) : null,
    };
  }

  /** Adds the state in another process's snapshot to this budget. */
  restore(snapshot: BudgetSnapshot): void {
    const now = this.#clock.monotonicMs();
    const { busy, others, heldMs = 0, freedMs = 0, elsewhere = false } = snapshot;
    const { leftMs, mostMs } = this.#fromRuleOf(snapshot);
    this.#forgottenUntil = -Infinity;
    if (others !== undefined) {
      this.#others ??= new ObservedUse();
      this.#others.restore(others, now, 2 * this.#rule.busyForMs(0));
    }
    const check = rangeChecks('rateBudget');
    for (const [ms, weight] of busy) {
      check.number({ 'the time of a busy slot': ms, 'the weight of a busy slot': weight });
      this.#log.add(now + leftMs(ms), weight, { elsewhere });
    }
    // Slots that the snapshot no longer lists can be busy again.
    if (freedMs !== null) this.#freedBefore = Math.max(this.#freedBefore, now + leftMs(-freedMs));
    this.holdUntil(Math.max(now + Math.min(heldMs, mostMs), this.#freedBefore));
  }

  /**
   * Returns for how long a slot of a snapshot is busy in this budget, from the time for which it is busy in the snapshot's. These differ if
   * the window or the reset has changed. A slot then lasts until the end of this budget's window in which its request may have been counted
   * at the latest. `mostMs`: maximum of that time.
   */
  #fromRuleOf({ windowMs, resets, ageMs = 0 }: BudgetSnapshot): { readonly leftMs: (ms: number) => number; readonly mostMs: number } {
    if (windowMs === this.windowMs && (resets === undefined || resets === this.#rule.resets)) {
      const rolling = (ms: number): number => ms;
      // The clock may have been set back since, or be another machine's: what is busy is so until the next reset by this one at least.
      const calendar = (ms: number): number => Math.max(ms, this.#rule.busyForMs(Math.min(0, ms - this.#rule.endGrainMs - RESET_GRAIN_MS)));
      return { leftMs: this.#rule.resets === null ? rolling : calendar, mostMs: Infinity };
    }
    const mostDelayMs = this.#maxDelayMs + (this.#leaseMs?.() ?? 0);
    // A slot of a rolling window says when its request was counted. One of a calendar says only before which reset.
    const sinceCountedMs = resets === null ? windowMs : this.#rule.resets === null ? 0 : RESET_GRAIN_MS;
    return {
      leftMs: (ms) => this.#rule.busyForMs(Math.min(ms - sinceCountedMs, mostDelayMs - ageMs)),
      mostMs: this.#rule.busyForMs(mostDelayMs),
    };
  }

  /** Returns true if the slot's request may be sent, whatever was learned since the slot was taken. Other requests may not be sent yet. */
  #send(slot: Taken): boolean {
    const now = this.#clock.monotonicMs();
    // The monotonic clock may stop while the machine sleeps, and the wall clock may be set back, so the larger difference decides.
    if (Math.max(now - slot.takenAt, this.#clock.epochMs() - slot.takenAtEpoch) > slot.leaseMs) return false;
    if (slot.sentAt === undefined) {
      if (this.#heldUntil > now || this.#besideOthers(slot.weight, this.#weightSent, now) > now) return false;
      this.#weightSent += slot.weight;
    }
    slot.sentAt = now;
    return true;
  }

  /** Ends a slot. Without effect after the first call. */
  #settle(slot: Taken, how: 'answered' | 'aborted' | 'unsent', evidence?: BudgetEvidence): void {
    if (!this.#inFlight.delete(slot)) return;
    const { weight, sentAt } = slot;
    this.#weightInFlight -= weight;
    if (sentAt !== undefined) this.#weightSent -= weight;
    if (how === 'unsent' || (how === 'aborted' && sentAt === undefined)) return;
    const countedWithinMs = how === 'answered' ? 0 : this.#maxDelayMs;
    const now = this.#clock.monotonicMs();
    const isEvidence = evidence !== undefined && this.#isPossible(evidence);
    slot.until = now + this.#rule.busyForMs(countedWithinMs);
    slot.setBackMs = this.#rule.setBackMs();
    slot.wasRefused = isEvidence && evidence.refused === true;
    this.#log.add(slot.until, weight, slot);
    if (isEvidence) slot.shown = this.#observe(evidence, slot, now);
    else this.#others?.lost(weight);
  }

  #correct(slot: Taken, weight: number): void {
    if (!Number.isSafeInteger(weight) || weight < 0) throw new RangeError(`rateBudget: a cost must be a whole number, got ${weight}`);
    const more = weight - slot.charged;
    slot.until += this.#rule.setBackMs() - slot.setBackMs;
    slot.setBackMs = this.#rule.setBackMs();
    if (slot.until <= this.#clock.monotonicMs()) return;
    slot.charged = weight;
    this.#log.add(slot.until, more, slot);
    if (slot.shown !== undefined) slot.shown = this.#others?.corrected(slot.shown, more);
  }
}

/** A slot, as its budget knows it. */
interface Taken {
  readonly weight: number;
  readonly leaseMs: number;
  readonly takenAt: number;
  readonly takenAtEpoch: number;
  /** Monotonic ms at which `sent` last returned true; undefined before. */
  sentAt: number | undefined;
  /** The weight that the budget counts for this slot: `weight`, or the cost that `corrected` has set. */
  charged: number;
  /** Monotonic ms until which the budget counts this slot; `-Infinity` until the request is answered or aborted. */
  until: number;
  /** How far the wall clock had been set back when `until` was calculated, in ms. */
  setBackMs: number;
  /** True if the response refused the request and reported the remaining requests. */
  wasRefused: boolean;
  shown: Sighting | undefined;
}
