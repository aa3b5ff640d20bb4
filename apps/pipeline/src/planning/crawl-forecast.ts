import type { FollowersOptions } from '../pipelines/followers.ts';
import { type FreeSlots, forecastMs, requestsUntilDone } from './forecast.ts';
import type { CrawlLeft } from './left-to-do.ts';

/** Crawls that a lane has in flight at once. */
const BACKLOG = 500;

export interface CrawlForecastOptions {
  readonly followers: Pick<FollowersOptions, 'limit'> & { readonly credentials: readonly { readonly name: string }[] };
  readonly lanes: number;
  readonly crawls: readonly CrawlLeft[];
  /** When each credential's requests come free. */
  readonly free: ReadonlyMap<string, readonly FreeSlots[]>;
  /** Crawls to forecast one by one: the first so many. */
  readonly first: number;
}

/** When something is done: ms from now, or no earlier than that where the size of a crawl before it isn't known. */
export interface Done {
  readonly inMs: number;
  readonly isExact: boolean;
}

export interface CrawlDone extends Done {
  /** Absent where its size isn't known. */
  readonly pages?: number;
  /** Names of its lane's credentials. */
  readonly credentials: readonly string[];
}

export interface CrawlForecast {
  /** Of the first crawls. */
  readonly crawls: readonly CrawlDone[];
  readonly all: Done & { readonly requests: number };
  /** What another credential at the end of the list would save; undefined where that isn't known. */
  readonly savedMs: number | undefined;
}

/** Forecasts crawls, each with the credentials of its lane only. */
export function forecastCrawls({ followers, lanes: count, crawls, free, first }: CrawlForecastOptions): CrawlForecast {
  const { credentials, limit } = followers;
  const listed = new Set(crawls.slice(0, first));
  const lanes = [...Map.groupBy(crawls, ({ lane }) => lane)].map(([lane, own]) => {
    const names = credentials.filter((_, i) => i % count === lane).map(({ name }) => name);
    const slots = merged(names.flatMap((name) => free.get(name) ?? []));
    return { lane, ...forecastLane({ crawls: own, listed, names, slots, windowMs: limit.window }) };
  });
  const isExact = lanes.every((lane) => lane.isExact);
  const inMs = Math.max(0, ...lanes.map(({ doneInMs }) => doneInMs()));
  const another = { inMs: 0, count: limit.requests };
  const sooner = lanes.map(({ lane, doneInMs }) => (lane === credentials.length % count ? doneInMs(another) : doneInMs()));
  return {
    crawls: [...listed].flatMap((crawl) => lanes.find(({ lane }) => lane === crawl.lane)?.crawls.get(crawl) ?? []),
    all: { inMs, isExact, requests: lanes.reduce((sum, { requests }) => sum + requests, 0) },
    savedMs: isExact ? inMs - Math.max(0, ...sooner) : undefined,
  };
}

interface LaneForecastOptions {
  readonly crawls: readonly CrawlLeft[];
  readonly listed: ReadonlySet<CrawlLeft>;
  readonly names: readonly string[];
  readonly slots: readonly FreeSlots[];
  readonly windowMs: number;
}

function forecastLane({ crawls, listed, names, slots, windowMs }: LaneForecastOptions) {
  const sizes = crawls.map(pagesLeft);
  const isExact = !sizes.includes(undefined);
  const pages = sizes.map((size) => size ?? 1);
  const requests = pages.reduce((sum, size) => sum + size, 0);
  const first = crawls.filter((crawl) => listed.has(crawl));
  const turns = requestsUntilDone(pages, { atOnce: BACKLOG, first: first.length });
  const done = first.map((crawl, i): readonly [CrawlLeft, CrawlDone] => {
    const size = sizes[i];
    const inMs = forecastMs({ requests: turns[i] ?? 0, slots, windowMs });
    return [crawl, { inMs, isExact, ...(size !== undefined && { pages: size }), credentials: names }];
  });
  return {
    crawls: new Map(done),
    isExact,
    requests,
    doneInMs: (...more: readonly FreeSlots[]): number => forecastMs({ requests, slots: [...slots, ...more], windowMs }),
  };
}

/** Pages still to come, going by the last crawl of the same user. */
function pagesLeft({ page, pagesLastTime }: CrawlLeft): number | undefined {
  return pagesLastTime === undefined ? undefined : Math.max(1, pagesLastTime - page + 1);
}

/** One entry an instant: unused credentials are free at the same. */
function merged(slots: readonly FreeSlots[]): FreeSlots[] {
  const counts = new Map<number, number>();
  for (const { inMs, count } of slots) counts.set(inMs, (counts.get(inMs) ?? 0) + count);
  return [...counts].map(([inMs, count]) => ({ inMs, count }));
}
