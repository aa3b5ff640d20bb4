import { handClock, type WindowKind } from './budget-simulation.fixture.ts';
import { type BudgetEvidence, rateBudget } from './rate-budget.ts';

/** A simulation of a service, our walks and other clients, all with one credential. */
export interface SharedCredential {
  readonly kind: WindowKind;
  readonly limit: number;
  readonly windowMs: number;
  /** Number of our walks. Each sends its next request as soon as the budget permits. */
  readonly walks: number;
  readonly windows: number;
  /** Beginning of wall-clock windows, as a fraction of a window. */
  readonly phase: number;
  /** Returns a fraction: of `slowestMs` for a round trip, and of the round trip for the moment of counting. */
  readonly trips: () => number;
  readonly slowestMs: number;
  /** Times of other clients' requests in each window, as fractions of a window. The last entry repeats. */
  readonly others: readonly (readonly number[])[];
  /** Time at which we begin to send, in windows. Default 0. */
  readonly startAt?: number;
}

export interface SharedUse {
  /** Times at which the service counted our requests, in ms. */
  readonly counted: readonly number[];
  /** Times at which the service refused our requests, in ms. */
  readonly refused: readonly number[];
  readonly othersCounted: number;
}

interface Happening {
  readonly at: number;
  readonly happen: () => void;
}

/**
 * Simulates walks that send as early as the budget permits, next to other clients. The service reports correct numbers, and times in whole
 * seconds.
 */
export function share(options: SharedCredential): SharedUse {
  const { kind, limit, windowMs, walks, windows, phase, trips, slowestMs, others, startAt = 0 } = options;
  const clock = handClock();
  const budget = rateBudget({ limit, windowMs, clock });
  const server = serverWindow({ kind, limit, windowMs, phaseMs: phase * windowMs });
  const counted: number[] = [];
  const refused: number[] = [];
  let othersCounted = 0;
  const endMs = windows * windowMs;
  const queue: Happening[] = [];
  const put = (at: number, happen: () => void): void => {
    const place = queue.findIndex((other) => other.at > at);
    queue.splice(place === -1 ? queue.length : place, 0, { at, happen });
  };
  for (let i = 0; i < windows; i += 1) {
    for (const part of others[Math.min(i, others.length - 1)] ?? [])
      put((i + part) * windowMs, () => {
        if (server.count(clock.now)) othersCounted += 1;
      });
  }
  let idle = 0;
  const go = (): void => {
    while (idle > 0 && budget.freeAt() <= clock.now) {
      const slot = budget.take();
      slot.sent();
      idle -= 1;
      const tripMs = slowestMs * trips();
      let evidence: BudgetEvidence;
      put(clock.now + tripMs * trips(), () => {
        const accepted = server.count(clock.now);
        (accepted ? counted : refused).push(clock.now);
        const resetInMs = (Math.floor(server.resetAt(clock.now) / 1_000) - Math.floor(clock.now / 1_000)) * 1_000;
        evidence = { remaining: server.remaining(clock.now), resetInMs, refused: !accepted };
      });
      put(clock.now + tripMs, () => {
        if (evidence.refused === true) budget.holdUntil(clock.now + Math.max(1_000, evidence.resetInMs + 1_000));
        slot.answered(evidence);
        idle += 1;
      });
    }
  };
  put(startAt * windowMs, () => {
    idle = walks;
  });
  for (;;) {
    const at = idle > 0 ? budget.freeAt() : Infinity;
    const next = queue[0];
    if (Math.min(at, next?.at ?? Infinity) > endMs) return { counted, refused, othersCounted };
    clock.now = Math.max(clock.now, Math.min(at, next?.at ?? Infinity));
    if (next !== undefined && next.at <= clock.now) {
      queue.shift();
      next.happen();
    }
    go();
  }
}

interface ServerWindow {
  count(now: number): boolean;
  remaining(now: number): number;
  resetAt(now: number): number;
}

function serverWindow({
  kind,
  limit,
  windowMs,
  phaseMs,
}: Pick<SharedCredential, 'kind' | 'limit' | 'windowMs'> & { readonly phaseMs: number }): ServerWindow {
  let counted: number[] = [];
  let startedAt = -Infinity;
  const look = (now: number): void => {
    if (kind === 'rolling') counted = counted.filter((at) => now - at < windowMs);
    else if (now - startedAt >= windowMs) {
      counted = [];
      startedAt = kind === 'first-request' ? now : Math.floor((now - phaseMs) / windowMs) * windowMs + phaseMs;
    }
  };
  return {
    count(now) {
      look(now);
      if (counted.length >= limit) return false;
      counted.push(now);
      return true;
    },
    remaining(now) {
      look(now);
      return limit - counted.length;
    },
    resetAt: (now) => (kind === 'rolling' ? (counted[0] ?? now) : startedAt) + windowMs,
  };
}
