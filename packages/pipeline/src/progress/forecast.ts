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
export function forecast(lanes: readonly LaneWork[], { now, requestMs = 0 }: ForecastOptions): Forecast {
  const check = pipelineChecks('forecast', 'HEADGATE_INVALID_OPTION');
  check.number({ now });
  check.number({ requestMs }, 0);
  const all = lanes.map((lane) => laneForecast(lane, now, requestMs));
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

function laneForecast(lane: LaneWork, now: number, requestMs: number): Forecast {
  const { walks, behind = { unknown: 0, pages: 0 }, keys, keysPerRequest, inFlight = 0, budgets } = lane;
  const sizes = walks.map(pagesLeft);
  const unknown = sizes.filter((size) => size === undefined).length + behind.unknown;
  const pages = sizes.reduce<number>((sum, size) => sum + (size ?? 0), behind.pages) + unknown;
  if (pages + keys === 0) return { requests: 0, unknown, inMs: 0 };
  const { requests } = lastStart(poolsOf(budgets, now), pages, keys, keysPerRequest, now);
  const waitingKeys = Math.max(0, keys - Math.max(0, inFlight - pages) * keysPerRequest);
  const { inMs } = lastStart(poolsOf(budgets, now), Math.max(0, pages - inFlight), waitingKeys, keysPerRequest, now);
  // The pages of the longest walk are requested one after another.
  const longest = sizes.reduce<number>((most, size) => Math.max(most, size ?? 1), 1);
  const rounds = Math.ceil((pages + Math.ceil(keys / keysPerRequest)) / concurrencyOf(budgets));
  return { requests, unknown, inMs: Math.max(inMs + requestMs, Math.max(longest, rounds) * requestMs) };
}

function concurrencyOf(budgets: readonly BudgetSlots[]): number {
  const own = budgets.filter(({ credential }) => credential !== undefined);
  const each = new Map(own.map(({ credential, concurrency = Infinity }) => [credential, concurrency]));
  return each.size === 0 ? Infinity : [...each.values()].reduce((sum, own) => sum + own, 0);
}

/**
 * Returns when the last request of the work starts, in ms from now, and the number of requests. Each starts as soon as the budgets allow,
 * lookups before pages.
 */
function lastStart(unstarted: readonly Pool[], allPages: number, allKeys: number, keysPerRequest: number, now: number) {
  let [pools, pages, keys, requests] = [unstarted, allPages, allKeys, 0];
  for (;;) {
    // Each iteration goes up to the next reset of a quota, because a slow rate can leave a part of the quota unused.
    const until = Math.min(Infinity, ...pools.map(({ resetInMs }) => resetInMs));
    const mostOf = (isOfUnits: boolean): number =>
      Math.min(Infinity, ...pools.filter((pool) => pool.isOfUnits === isOfUnits).map((pool) => startedBy(pool, until - 1)));
    // A budget with a unit counts keys and pages; other budgets count HTTP requests.
    const units = mostOf(true);
    const batches = Math.ceil(Math.min(keys, units) / keysPerRequest);
    const started = Math.min(batches + Math.min(pages, Math.max(0, units - keys)), mostOf(false));
    const keysStarted = Math.min(keys, units, started * keysPerRequest);
    const pagesStarted = Math.max(0, started - batches);
    const needOf = ({ isOfUnits }: Pool): number => (isOfUnits ? keysStarted + pagesStarted : started);
    requests += started;
    keys -= keysStarted;
    pages -= pagesStarted;
    if (keys + pages === 0) return { requests, inMs: Math.max(0, ...pools.map((pool) => nthStart(pool, needOf(pool), until - 1))) };
    pools = pools.map((pool) => (pool.resetInMs === until ? reset(pool, now) : later(pool, needOf(pool), until)));
  }
}

interface Slots extends FreeSlots {
  /** Ms from a slot's start until the slot is free again. Infinity for a quota, which becomes free only at its reset. */
  readonly againInMs: number;
}

/** The budgets of the same name of several credentials, combined. A request can use any of their free slots. */
interface Pool {
  readonly isOfUnits: boolean;
  readonly limit: number;
  readonly quota: BudgetSlots['quota'];
  readonly free: readonly Slots[];
  /** Ms from now until a quota's next reset. Infinity for a budget without resets. */
  readonly resetInMs: number;
  /** Ms from now until the first slot is free, which for a quota can be after its next reset. */
  readonly notBefore: number;
}

function poolsOf(budgets: readonly BudgetSlots[], now: number): readonly Pool[] {
  return Array.from(Map.groupBy(budgets, ({ name }) => name).values(), (same): Pool => {
    const free = same.flatMap(({ free, againInMs, quota }) => free.map((slots) => ({ ...slots, againInMs: quota ? Infinity : againInMs })));
    const quota = same[0]?.quota;
    return {
      isOfUnits: same[0]?.unit !== undefined,
      limit: same.reduce((sum, { limit }) => sum + limit, 0),
      quota,
      free: merged(free),
      resetInMs: quota === undefined ? Infinity : nextReset(quota, now) - now,
      notBefore: Math.min(...free.map(({ inMs }) => inMs)),
    };
  });
}

function merged(all: readonly Slots[]): readonly Slots[] {
  const alike = Map.groupBy(all, ({ inMs, againInMs }) => `${inMs} ${againInMs}`);
  return [...alike.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [{ ...first, count: others.reduce((sum, { count }) => sum + count, first.count) }],
  );
}

/** Returns how many requests or units can start within `ms` from now. */
function startedBy({ free }: Pool, ms: number): number {
  return free.reduce((sum, { inMs, count, againInMs }) => sum + (inMs > ms ? 0 : count * (Math.floor((ms - inMs) / againInMs) + 1)), 0);
}

/** Returns when the last of `need` requests or units starts, ms from now, if each takes the next free slot. At most `latest`. */
function nthStart(pool: Pool, need: number, latest: number): number {
  if (need === 0) return 0;
  const allBy = Math.max(...pool.free.map(({ inMs, count, againInMs }) => inMs + Math.ceil(need / count) * againInMs));
  let [early, late] = [-1, Math.min(latest, allBy)];
  while (late - early > 1) {
    const between = Math.floor((early + late) / 2);
    if (startedBy(pool, between) < need) early = between;
    else late = between;
  }
  return late;
}

/** Returns a quota as it is after its next reset. */
function reset(pool: Pool, now: number): Pool {
  const { quota, limit, resetInMs, notBefore } = pool;
  const free = [{ inMs: Math.max(resetInMs, notBefore), count: limit, againInMs: Infinity }];
  return { ...pool, free, resetInMs: quota === undefined ? Infinity : nextReset(quota, now + resetInMs) - now };
}

/** Returns the budget as it will be at `until`, if `need` requests or units have started by then. */
function later(pool: Pool, need: number, until: number): Pool {
  const lastMs = nthStart(pool, need, until - 1);
  let atLast = need - startedBy(pool, lastMs - 1);
  const free = pool.free.flatMap(({ inMs, count, againInMs }) => {
    const times = inMs < lastMs ? Math.floor((lastMs - 1 - inMs) / againInMs) + 1 : 0;
    const next = times === 0 ? inMs : inMs + times * againInMs;
    const used = next === lastMs ? Math.min(count, atLast) : 0;
    atLast -= used;
    return [
      { inMs: Math.max(until, next + againInMs), count: used, againInMs },
      { inMs: Math.max(until, next), count: count - used, againInMs },
    ];
  });
  return { ...pool, free: merged(free.filter(({ inMs, count }) => count > 0 && inMs < Infinity)) };
}
