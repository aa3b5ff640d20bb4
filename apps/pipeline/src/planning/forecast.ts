import type { RateBudget } from '@headgate/throttle';

/** Requests (or units) that may start from an instant on, and again a window after each start. */
export interface FreeSlots {
  /** Ms from now. */
  readonly inMs: number;
  readonly count: number;
}

/** When the slots of a budget whose clock stands at 0 come free. */
export function freeSlots(budget: Pick<RateBudget, 'limit' | 'freeAt'>): FreeSlots[] {
  const slots: FreeSlots[] = [];
  for (let taken = 0; taken < budget.limit;) {
    const at = budget.freeAt(taken + 1);
    let [last, beyond] = [taken + 1, budget.limit + 1];
    while (beyond - last > 1) {
      const between = Math.floor((last + beyond) / 2);
      if (budget.freeAt(between) <= at) last = between;
      else beyond = between;
    }
    slots.push({ inMs: Math.max(0, Math.ceil(at)), count: last - taken });
    taken = last;
  }
  return slots;
}

/** When so many requests have started that take each slot as it comes free: ms from now. */
export function forecastMs({
  requests,
  slots,
  windowMs,
}: {
  readonly requests: number;
  readonly slots: readonly FreeSlots[];
  readonly windowMs: number;
}): number {
  if (requests <= 0) return 0;
  const total = slots.reduce((sum, { count }) => sum + count, 0);
  const lastInMs = slots.reduce((last, { inMs }) => Math.max(last, inMs), 0);
  const startedBy = (ms: number): number =>
    slots.reduce((sum, { inMs, count }) => sum + (inMs > ms ? 0 : count * (Math.floor((ms - inMs) / windowMs) + 1)), 0);
  let [early, late] = [-1, lastInMs + Math.ceil(requests / total) * windowMs];
  while (late - early > 1) {
    const between = Math.floor((early + late) / 2);
    if (startedBy(between) < requests) early = between;
    else late = between;
  }
  return late;
}

export interface RequestsUntilDoneOptions {
  /** Crawls under way at once; one more begins when one of them is done. */
  readonly atOnce: number;
  /** Crawls asked about: the first so many. */
  readonly first: number;
}

/**
 * Requests until each of the first of several crawls is done, when they take turns as the fair queue lets them: each that is under way
 * gets one request a round, in the order they began. Exact where all are under way at once, else to within a round.
 */
export function requestsUntilDone(pages: readonly number[], { atOnce, first }: RequestsUntilDoneOptions): number[] {
  /** The rounds after which each begins. */
  const begins: number[] = [];
  /** The last rounds of those under way, ascending. */
  const ends: number[] = [];
  for (const own of pages) {
    const begin = ends.length < atOnce ? 0 : (ends.shift() ?? 0);
    begins.push(begin);
    insert(ends, begin + own);
  }
  return pages.slice(0, first).map((own, i) => {
    const end = (begins[i] ?? 0) + own;
    let requests = 0;
    for (const [j, other] of pages.entries()) {
      const begin = begins[j] ?? 0;
      // Who comes later in the round has its turn after the last of this one.
      requests += Math.min(other, Math.max(0, (j <= i ? end : end - 1) - begin));
    }
    return requests;
  });
}

function insert(ascending: number[], value: number): void {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const between = (low + high) >> 1;
    if ((ascending[between] ?? 0) <= value) low = between + 1;
    else high = between;
  }
  ascending.splice(low, 0, value);
}
