import type { Clock } from '../clock.ts';
import type { BudgetSnapshot } from './journal.ts';
import { type BudgetEvidence, type RateBudget, rateBudget } from './rate-budget.ts';

export interface SimulatedRequest {
  readonly idleMs: number;
  /** Time from the grant to the first byte of the request. */
  readonly lateMs: number;
  readonly upMs: number;
  readonly downMs: number;
  /** `killed`: the process dies with the request in flight, and another continues from the journal. */
  readonly ending: 'answered' | 'aborted' | 'unsent' | 'killed';
  /** The budget that the response's headers report, correct or not. Default: none. */
  readonly evidence?: BudgetEvidence | undefined;
}

export interface Simulation {
  readonly limit: number;
  readonly windowMs: number;
  /** Client milliseconds per true millisecond. */
  readonly drift: number;
  readonly requests: readonly SimulatedRequest[];
}

const MAX_DELAY_MS = 1_000;
const LEASE_MS = 300;

/**
 * Starts each request after its idle time, as soon as the budget permits. Returns the true instants at which the server counted requests.
 */
export function simulate({ limit, windowMs, drift, requests }: Simulation): number[] {
  const clock = handClock();
  const fresh = (): RateBudget => rateBudget({ limit, windowMs, maxDelayMs: MAX_DELAY_MS, leaseMs: () => LEASE_MS, clock });
  let budget = fresh();
  let journal: { at: number; snapshot: BudgetSnapshot } | undefined;
  const counted: number[] = [];
  let inFlight: { at: number; settle: () => void }[] = [];
  let trueNow = 0;
  const goTo = (instant: number): void => {
    inFlight.sort((a, b) => a.at - b.at);
    for (let next = inFlight[0]; next !== undefined && next.at <= instant; next = inFlight[0]) {
      inFlight.shift();
      trueNow = Math.max(trueNow, next.at);
      clock.now = trueNow * drift;
      next.settle();
    }
    trueNow = Math.max(trueNow, instant);
    clock.now = trueNow * drift;
  };
  for (const { idleMs, lateMs, upMs, downMs, ending, evidence } of requests) {
    goTo(trueNow + idleMs);
    for (let at = budget.freeAt(); at > clock.now; at = budget.freeAt()) {
      const settled = Math.min(...inFlight.map((request) => request.at));
      goTo(Math.min(at / drift + 1e-9, settled));
    }
    const slot = budget.take();
    journal = { at: clock.now, snapshot: budget.snapshot() };
    if (ending === 'unsent') {
      slot.aborted();
      continue;
    }
    goTo(trueNow + lateMs);
    if (!slot.sent()) {
      slot.aborted();
      continue;
    }
    counted.push(trueNow + upMs);
    if (ending === 'answered') inFlight.push({ at: trueNow + upMs + downMs, settle: () => slot.answered(evidence) });
    else if (ending === 'aborted') inFlight.push({ at: trueNow + downMs / 2, settle: () => slot.aborted() });
    else {
      inFlight = [];
      const elapsed = clock.now - journal.at;
      budget = fresh();
      budget.restore({ ...journal.snapshot, busy: journal.snapshot.busy.map(([ms, weight]) => [ms - elapsed, weight]) });
    }
  }
  return counted.sort((a, b) => a - b);
}

export type WindowKind = 'rolling' | 'first-request' | 'wall-clock';

export interface Server {
  readonly kind: WindowKind;
  readonly counted: readonly number[];
  readonly limit: number;
  readonly windowMs: number;
  readonly phaseMs: number;
}

/** Returns how many of the counted requests exceed the limit of their window. */
export function overruns({ kind, counted, limit, windowMs, phaseMs }: Server): number {
  if (kind === 'rolling') return counted.filter((at, i) => at - (counted[i - limit] ?? -Infinity) < windowMs).length;
  let over = 0;
  let start = -Infinity;
  let used = 0;
  for (const at of counted) {
    const first = at - start >= windowMs ? at : start;
    const windowStart = kind === 'wall-clock' ? Math.floor((at + phaseMs) / windowMs) : first;
    if (windowStart !== start) {
      start = windowStart;
      used = 0;
    }
    used += 1;
    if (used > limit) over += 1;
  }
  return over;
}

/** Creates a clock that a test moves by setting `now`. Its timers never fire. */
export function handClock(): Clock & { now: number } {
  return {
    now: 0,
    monotonicMs() {
      return this.now;
    },
    epochMs() {
      return this.now;
    },
    schedule: () => () => undefined,
  };
}
