import { pipelineChecks } from '../settings/pipeline-error.ts';
import { type BudgetSlots, type FreeSlots, nextReset } from '@headgate/sources';

/** An unfinished walk: its next page and, if known, its size. */
export interface WalkSize {
  /** The next page, 1-based. */
  readonly page: number;
  /** Total pages, including the written ones; absent if unknown. */
  readonly pages?: number;
}

/** The remaining work of one lane, and the budgets that it uses. */
export interface LaneWork {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Partition of the pipeline's requests topic, counted from 0. */
  readonly lane: number;
  /** The first walks, in the order of their turns. `behind` counts the others. */
  readonly walks: readonly WalkSize[];
  /**
   * The walks after those in `walks`: their number, how many have an unknown size, and the remaining pages of the others. Default: none.
   */
  readonly behind?: { readonly walks: number; readonly unknown: number; readonly pages: number };
  /** Number of lookup keys whose results aren't durable. */
  readonly keys: number;
  /** Maximum keys of one HTTP request. */
  readonly keysPerRequest: number;
  /** Number of this work's HTTP requests that are in flight. Default 0. */
  readonly inFlight?: number;
  /** An element for each budget of each credential of the lane, and for each limit on all of its credentials together. */
  readonly budgets: readonly BudgetSlots[];
}

/** The amount of remaining work, and the time until it is done. */
export interface Forecast {
  /** Number of remaining HTTP requests. It is a minimum if `unknown` is above 0. */
  readonly requests: number;
  /** Number of walks of unknown size, such as the first walk of a key. */
  readonly unknown: number;
  /** Ms from now until the last response. It is a minimum if `unknown` is above 0. */
  readonly inMs: number;
}

/** Options of {@link forecast}. */
export interface ForecastOptions {
  /** The current time, epoch ms. Quotas reset at times of day, so their resets depend on it. */
  readonly now: number;
  /** Time from a request to its response, in ms. The pages of a walk are requested one after another, so each adds this time. Default 0. */
  readonly requestMs?: number;
}

/**
 * Forecasts when the work of several lanes is done. Assumes that each lane has its own credentials, and that each of them may send all of
 * the lane's requests.
 */
export function forecast(lanes: readonly LaneWork[], options: ForecastOptions): Forecast {
  const check = pipelineChecks('forecast', 'HEADGATE_INVALID_OPTION');
  check.number({ now: options.now });
  check.number({ requestMs: options.requestMs === undefined ? 0 : options.requestMs }, 0);
  const all = lanes.map((lane) => {
    const pace = paceOf(lane, options);
    return { ...needOf(lane, pace), inMs: laneMs(lane, pace, options) };
  });
  return {
    requests: all.reduce((sum, { requests }) => sum + requests, 0),
    unknown: all.reduce((sum, { unknown }) => sum + unknown, 0),
    inMs: Math.max(0, ...all.map(({ inMs }) => inMs)),
  };
}

/** Remaining pages, including the next one. Undefined if unknown. */
export function pagesLeft({ page, pages }: WalkSize): number | undefined {
  return pages === undefined ? undefined : Math.max(1, pages - page + 1);
}

function workOf({ walks, behind, keys }: LaneWork): Work {
  const pages = walks.reduce((sum, walk) => sum + (pagesLeft(walk) ?? 1), 0);
  return { pages: pages + (behind?.pages ?? 0) + (behind?.unknown ?? 0), keys };
}

function needOf(lane: LaneWork, pace: Pace) {
  return {
    requests: started(workOf(lane), pace).requests,
    unknown: lane.walks.filter((walk) => pagesLeft(walk) === undefined).length + (lane.behind?.unknown ?? 0),
  };
}

function laneMs(lane: LaneWork, pace: Pace, { requestMs = 0 }: ForecastOptions): number {
  const { pages, keys } = workOf(lane);
  if (pages + keys === 0) return 0;
  const { inFlight = 0, keysPerRequest } = lane;
  // Pages left of the longest walk, which requests them one after another.
  const longest = lane.walks.reduce((most, walk) => Math.max(most, pagesLeft(walk) ?? 1), 1);
  const waiting = { pages: Math.max(0, pages - inFlight), keys: Math.max(0, keys - Math.max(0, inFlight - pages) * keysPerRequest) };
  const rounds = Math.ceil((pages + Math.ceil(keys / keysPerRequest)) / concurrencyOf(lane));
  return Math.max(started(waiting, pace).inMs + requestMs, Math.max(longest, rounds) * requestMs);
}

function concurrencyOf({ budgets }: LaneWork): number {
  const own = budgets.filter(({ credential }) => credential !== undefined);
  const each = new Map(own.map(({ credential, concurrency = Infinity }) => [credential, concurrency]));
  return each.size === 0 ? Infinity : [...each.values()].reduce((sum, own) => sum + own, 0);
}

interface Work {
  readonly pages: number;
  readonly keys: number;
}

interface Slots extends FreeSlots {
  /** Ms from a slot's start until the slot is free again. Infinity for a quota, which becomes free only at its reset. */
  readonly againInMs: number;
}

/** The budgets of the same name of several credentials, combined. A request can use any of their free slots. */
interface Pooled {
  readonly unit: string | undefined;
  readonly limit: number;
  readonly free: readonly Slots[];
  /** Set for a quota. `inMs`: ms from now until its next reset. `notBefore`: ms from now until its first slot is free. */
  readonly renewed: { readonly quota: Quota; readonly inMs: number; readonly notBefore: number } | undefined;
}

type Quota = NonNullable<BudgetSlots['quota']>;

/** The budgets that limit how fast the work of a lane can start. */
interface Pace {
  readonly budgets: readonly Pooled[];
  readonly keysPerRequest: number;
  readonly now: number;
}

function paceOf({ budgets, keysPerRequest }: LaneWork, { now }: ForecastOptions): Pace {
  return { budgets: grouped(budgets, now), keysPerRequest, now };
}

function grouped(budgets: readonly BudgetSlots[], now: number): readonly Pooled[] {
  return [...Map.groupBy(budgets, ({ name }) => name).values()].flatMap((same): readonly Pooled[] => {
    const [first] = same;
    if (first === undefined) return [];
    const { unit, quota } = first;
    const free = same.flatMap((one) =>
      one.free.map((slots) => ({ ...slots, againInMs: one.quota === undefined ? one.againInMs : Infinity })),
    );
    const limit = same.reduce((sum, one) => sum + one.limit, 0);
    const notBefore = Math.min(...free.map(({ inMs }) => inMs));
    return [{ unit, limit, free: merged(free), renewed: quota && { quota, inMs: nextReset(quota, now) - now, notBefore } }];
  });
}

function merged(all: readonly Slots[]): readonly Slots[] {
  const alike = Map.groupBy(all, ({ inMs, againInMs }) => `${inMs} ${againInMs}`);
  return [...alike.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [{ ...first, count: others.reduce((sum, { count }) => sum + count, first.count) }],
  );
}

/**
 * Returns when the last request of the work starts, in ms from now, and the number of requests. Each request starts as soon as the budgets
 * allow.
 */
function started(work: Work, { budgets: unstarted, keysPerRequest, now }: Pace): { readonly inMs: number; readonly requests: number } {
  let budgets = unstarted;
  let { pages, keys } = work;
  let requests = 0;
  for (;;) {
    // Each iteration goes up to the next reset of a quota, because a slow rate can leave a part of the quota unused.
    const until = Math.min(Infinity, ...budgets.map(({ renewed }) => renewed?.inMs ?? Infinity));
    const most = (of: 'requests' | 'units'): number => {
      const own = budgets.filter(({ unit }) => (unit === undefined) === (of === 'requests'));
      return Math.min(Infinity, ...own.map((budget) => startedBy(budget, until - 1)));
    };
    const units = most('units');
    const batches = Math.ceil(Math.min(keys, units) / keysPerRequest);
    // Lookups start first. A budget with a unit counts keys and pages; other budgets count HTTP requests.
    const count = Math.min(batches + Math.min(pages, Math.max(0, units - keys)), most('requests'));
    const keysStarted = Math.min(keys, units, count * keysPerRequest);
    const pagesStarted = Math.max(0, count - batches);
    const taken = budgets.map((budget) => {
      const need = budget.unit === undefined ? count : keysStarted + pagesStarted;
      return { budget, need, lastMs: lastStart(budget, need, until - 1) };
    });
    requests += count;
    keys -= keysStarted;
    pages -= pagesStarted;
    if (keys + pages === 0) return { inMs: Math.max(0, ...taken.map(({ lastMs }) => lastMs)), requests };
    budgets = taken.map(({ budget, need, lastMs }) => later(budget, { need, lastMs, until, now }));
  }
}

/** Returns how many requests or units can start within `ms` from now. */
function startedBy({ free }: Pooled, ms: number): number {
  return free.reduce((sum, { inMs, count, againInMs }) => sum + (inMs > ms ? 0 : count * (Math.floor((ms - inMs) / againInMs) + 1)), 0);
}

/** Returns when the last of `need` requests or units starts, ms from now, if each takes the next free slot. At most `latest`. */
function lastStart(budget: Pooled, need: number, latest: number): number {
  if (need === 0) return 0;
  const allBy = Math.max(...budget.free.map(({ inMs, count, againInMs }) => inMs + Math.ceil(need / count) * againInMs));
  let [early, late] = [-1, Math.min(latest, allBy)];
  while (late - early > 1) {
    const between = Math.floor((early + late) / 2);
    if (startedBy(budget, between) < need) early = between;
    else late = between;
  }
  return late;
}

/** Returns the budget as it will be at `until`, if `need` requests or units have started by then, the last of them at `lastMs`. */
function later(
  budget: Pooled,
  { need, lastMs, until, now }: { readonly need: number; readonly lastMs: number; readonly until: number; readonly now: number },
): Pooled {
  const { limit, renewed } = budget;
  if (renewed?.inMs === until) {
    const { quota, notBefore } = renewed;
    const inMs = nextReset(quota, now + until) - now;
    return { ...budget, free: [{ inMs: Math.max(until, notBefore), count: limit, againInMs: Infinity }], renewed: { ...renewed, inMs } };
  }
  let atLast = need - startedBy(budget, lastMs - 1);
  const free = budget.free.flatMap(({ inMs, count, againInMs }) => {
    const times = inMs < lastMs ? Math.floor((lastMs - 1 - inMs) / againInMs) + 1 : 0;
    const next = times === 0 ? inMs : inMs + times * againInMs;
    const used = next === lastMs ? Math.min(count, atLast) : 0;
    atLast -= used;
    return [
      { inMs: Math.max(until, next + againInMs), count: used, againInMs },
      { inMs: Math.max(until, next), count: count - used, againInMs },
    ];
  });
  return { ...budget, free: merged(free.filter(({ inMs, count }) => count > 0 && inMs < Infinity)) };
}
