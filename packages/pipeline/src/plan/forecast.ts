import { type BudgetSlots, type FreeSlots, nextReset } from '@headgate/sources';

/** A walk that is left: its next page, 1-based, and the pages it will have in all, where that is known. */
export interface WalkSize {
  readonly page: number;
  readonly pages?: number;
}

/** The work that is left in one lane, and the budgets it is charged to. */
export interface LaneWork {
  readonly pipeline: string;
  readonly lane: number;
  /** In the order of their turns. */
  readonly walks: readonly WalkSize[];
  /** Walks that begin when those are done: how many, those among them of unknown size, and the pages that the others take. Default: none. */
  readonly behind?: { readonly walks: number; readonly unknown: number; readonly pages: number };
  /** Keys of lookups without an answer. */
  readonly keys: number;
  /** Most keys of one HTTP request. */
  readonly keysAtOnce: number;
  /** HTTP requests of all that, which have their slot already and no answer yet. Default 0. */
  readonly inFlight?: number;
  readonly budgets: readonly BudgetSlots[];
}

/** Work that is left, and when it is done. */
export interface Forecast {
  /** HTTP requests that are left: exactly, or at least so many where the size of some walks isn't known. */
  readonly requests: number;
  /** Walks of unknown size: those that were never walked before. */
  readonly unknown: number;
  /** Ms from now until the last request is answered; no sooner than that where `unknown` is above 0. */
  readonly inMs: number;
}

export interface ForecastOptions {
  /** Epoch ms. */
  readonly now: number;
  /** Time from a request to its answer, ms: the pages of a walk come one after the other. Default 0. */
  readonly requestMs?: number;
}

/** Forecasts the work of several lanes, each with its own credentials. */
export function forecast(lanes: readonly LaneWork[], options: ForecastOptions): Forecast {
  const all = lanes.map((lane) => ({ ...needOf(lane, options), inMs: laneMs(lane, options) }));
  return {
    requests: all.reduce((sum, { requests }) => sum + requests, 0),
    unknown: all.reduce((sum, { unknown }) => sum + unknown, 0),
    inMs: Math.max(0, ...all.map(({ inMs }) => inMs)),
  };
}

/** The time that another credential at the end of the list saves, ms; undefined where that can't be known. */
export function savedByCredential(lanes: readonly LaneWork[], options: ForecastOptions): number | undefined {
  const { unknown, inMs } = forecast(lanes, options);
  if (unknown > 0) return undefined;
  const credentials = new Set(lanes.flatMap(({ budgets }) => budgets.map(({ credential }) => credential))).size;
  const next = credentials % Math.max(1, lanes.length);
  const more = lanes.map((lane) => {
    const [{ credential } = { credential: '' }] = lane.budgets;
    const fresh = lane.budgets.filter((one) => one.credential === credential).map(unused);
    return lane.lane === next ? { ...lane, budgets: [...lane.budgets, ...fresh] } : lane;
  });
  return inMs - forecast(more, options).inMs;
}

/** When each of the first walks of a lane is done, ms from now, as they take turns; most `atOnce` of them at the same time. */
export function walksDone(
  lane: LaneWork,
  { first, atOnce, ...options }: ForecastOptions & { readonly first: number; readonly atOnce: number },
): readonly number[] {
  const pages = lane.walks.map((walk) => pagesLeft(walk) ?? 1);
  const { requests } = needOf(lane, options);
  const isMore = (lane.behind?.walks ?? 0) > 0;
  const lookups = Math.ceil(lane.keys / lane.keysAtOnce);
  return requestsUntilDone(pages, { atOnce, first }).map((turns, i) => {
    const own = pages[i] ?? 1;
    // A walk that is done makes room for the next one; and each lookup has its turn as a walk has.
    const until = isMore ? own * Math.max(1, lane.walks.length) : turns + Math.min(lookups, own);
    return startedMs({ requests: Math.min(requests, until), pages: Infinity, keys: 0, lane, options }) + own * (options.requestMs ?? 0);
  });
}

/** Pages still to come; undefined where that isn't known. */
function pagesLeft({ page, pages }: WalkSize): number | undefined {
  return pages === undefined ? undefined : Math.max(1, pages - page + 1);
}

function needOf({ walks, behind, keys, keysAtOnce, budgets }: LaneWork, { now }: ForecastOptions) {
  const sizes = walks.map(pagesLeft);
  const pages = sizes.reduce<number>((sum, size) => sum + (size ?? 1), 0) + (behind?.pages ?? 0) + (behind?.unknown ?? 0);
  const budget = grouped(budgets).find(({ unit }) => unit !== undefined);
  return {
    pages,
    requests: pages + batches({ keys, size: keysAtOnce, budget, now }),
    unknown: sizes.filter((size) => size === undefined).length + (behind?.unknown ?? 0),
  };
}

function laneMs(lane: LaneWork, options: ForecastOptions): number {
  const { requests, pages } = needOf(lane, options);
  if (requests === 0) return 0;
  const { requestMs = 0 } = options;
  const longest = Math.max(1, ...lane.walks.map((walk) => pagesLeft(walk) ?? 1));
  const { inFlight = 0 } = lane;
  return Math.max(startedMs({ requests: requests - inFlight, pages, keys: lane.keys, lane, options }) + requestMs, longest * requestMs);
}

/** The same budget of several credentials: requests take whichever is free. */
interface Pooled {
  readonly windowMs: number;
  readonly unit: string | undefined;
  readonly limit: number;
  readonly free: readonly FreeSlots[];
  readonly againInMs: number;
  readonly quota: BudgetSlots['quota'];
}

/** Budgets of one kind as one, those of short windows first. */
function grouped(budgets: readonly BudgetSlots[]): readonly Pooled[] {
  const kinds = Map.groupBy(budgets, ({ name }) => name);
  const all = [...kinds.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const { windowMs, unit, quota } = first;
    const counts = new Map<number, number>();
    for (const { free } of same) for (const { inMs, count } of free) counts.set(inMs, (counts.get(inMs) ?? 0) + count);
    const free = [...counts].map(([inMs, count]) => ({ inMs, count })).toSorted((one, other) => one.inMs - other.inMs);
    const againInMs = Math.max(...same.map((one) => one.againInMs));
    return [{ windowMs, unit, quota, free, againInMs, limit: same.reduce((sum, { limit }) => sum + limit, 0) }];
  });
  return all.toSorted((one, other) => one.windowMs - other.windowMs);
}

function unused(budget: BudgetSlots): BudgetSlots {
  return { ...budget, credential: 'another', free: [{ inMs: 0, count: budget.limit }] };
}

interface StartedOptions {
  readonly requests: number;
  /** The number of them that are pages of walks, and the keys of the others. */
  readonly pages: number;
  readonly keys: number;
  readonly lane: LaneWork;
  readonly options: ForecastOptions;
}

/** When the last of so many requests starts, each as soon as every budget lets it: ms from now. */
function startedMs({ requests, pages, keys, lane, options: { now } }: StartedOptions): number {
  const units = Math.min(requests, pages) + keys;
  let latest = 0;
  const shorter: Pooled[] = [];
  for (const budget of grouped(lane.budgets)) {
    // A quota of other things than requests is charged for each key.
    const need = budget.unit === undefined ? requests : units;
    const { inMs, burst } = budget.quota === undefined ? rolling(need, budget) : renewed(need, budget.quota, budget, now);
    const burstKeys = Math.round((keys * burst) / Math.max(1, need));
    const together = budget.unit === undefined ? burst : Math.ceil(burstKeys / lane.keysAtOnce) + (burst - burstKeys);
    // A long window that opens lets no more go at once than the short ones do.
    const paced = inMs === 0 ? [0] : shorter.map(({ limit, againInMs }) => (Math.ceil(together / limit) - 1) * againInMs);
    latest = Math.max(latest, inMs + Math.max(0, ...paced));
    shorter.push(budget);
  }
  return latest;
}

/**
 * The time until the last of `need` starts, where each start takes the next free slot, and a slot is free again after `againInMs`; `burst`:
 * how many start then.
 */
function rolling(need: number, { free, againInMs }: Pooled): { readonly inMs: number; readonly burst: number } {
  const total = free.reduce((sum, { count }) => sum + count, 0);
  if (need <= 0 || total === 0) return { inMs: 0, burst: 0 };
  const startedBy = (ms: number): number =>
    free.reduce((sum, { inMs, count }) => sum + (inMs > ms ? 0 : count * (Math.floor((ms - inMs) / againInMs) + 1)), 0);
  let [early, late] = [-1, (free.at(-1)?.inMs ?? 0) + Math.ceil(need / total) * againInMs];
  while (late - early > 1) {
    const between = Math.floor((early + late) / 2);
    if (startedBy(between) < need) early = between;
    else late = between;
  }
  return { inMs: late, burst: need - startedBy(late - 1) };
}

/** The same for a budget that is whole again at each reset. */
function renewed(need: number, quota: Quota, budget: Pooled, now: number): { readonly inMs: number; readonly burst: number } {
  const first = leftBeforeReset(quota, budget, now);
  const held = budget.free[0]?.inMs ?? 0;
  if (need <= first) return { inMs: held, burst: need };
  const resets = Math.ceil((need - first) / budget.limit);
  // Days of 23 and of 25 hours are among them, and months of 28 days.
  let last = now;
  for (let i = 0; i < resets; i += 1) last = nextReset(quota, last);
  return { inMs: Math.max(held, last - now), burst: need - first - (resets - 1) * budget.limit };
}

type Quota = NonNullable<BudgetSlots['quota']>;

function leftBeforeReset(quota: Quota, { free }: Pooled, now: number): number {
  const reset = nextReset(quota, now) - now;
  return free.reduce((sum, { inMs, count }) => sum + (inMs < reset ? count : 0), 0);
}

/** Requests for so many keys: where a quota lets them go behind several resets, the last batch before each is cut to what is left of it. */
function batches({ keys, size, budget, now }: { keys: number; size: number; budget: Pooled | undefined; now: number }): number {
  if (keys === 0) return 0;
  const first = budget?.quota === undefined ? Infinity : leftBeforeReset(budget.quota, budget, now);
  if (budget === undefined || keys <= first) return Math.ceil(keys / size);
  const later = keys - first;
  const { limit } = budget;
  return Math.ceil(first / size) + Math.floor(later / limit) * Math.ceil(limit / size) + Math.ceil((later % limit) / size);
}

export interface RequestsUntilDoneOptions {
  /** Walks in work at once; one more begins when one of them is done. */
  readonly atOnce: number;
  /** The number of walks to forecast, from the first. */
  readonly first: number;
}

/**
 * Requests until each of the first of several walks is done, when they take turns as the fair queue lets them: each in work gets one
 * request a round, in the order they began. Exact where all are in work at once, else to within a round.
 */
export function requestsUntilDone(pages: readonly number[], { atOnce, first }: RequestsUntilDoneOptions): number[] {
  /** The rounds after which each begins. */
  const begins: number[] = [];
  /** The last rounds of those in work, ascending. */
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
      // A walk that is later in the round has its turn after the last of this one.
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
