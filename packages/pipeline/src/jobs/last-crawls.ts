import type { Json } from '@headgate/throttle';
import type { StateChange } from '../lane/lane.ts';
import { STATE_KEYS } from '../lane/lane-state.ts';
import type { StateOfLane, WorkContext } from '../definition/processor.ts';
import type { TopicMap } from '../topics/topic.ts';
import type { Crawl } from './walk-definition.ts';

/** The last complete walk of a key, in the form in which the lane's state stores it. */
export interface LastCrawl {
  /** Number of pages, for forecasts. */
  readonly pages: number;
  /** Number of items, for forecasts. */
  readonly items: number;
  /** Last value of `carry`. The key's next walk starts with it. */
  readonly carried?: Json | undefined;
  /** The walk that `after` of the key's next walk gets as `previous`. */
  readonly crawl?: Omit<Crawl, 'key'> | undefined;
}

/** The last complete walk of each key, including walks of this run. */
export interface LastCrawls {
  of(this: void, key: string): LastCrawl | undefined;
  /** Notes that a key's walk is complete. Returns the state change for the transaction of its last page. */
  ended(this: void, key: string, crawl: LastCrawl): StateChange;
}

/** Time after which a key's last walk is forgotten. Otherwise, the state would grow with every key that was ever walked. */
const FORGET_AFTER_MS = 90 * 86_400_000;

/** Returns the last complete walks in a lane's state, by key. `kind`: as in `WorkContext`. */
export function lastCrawlsIn(state: StateOfLane, kind: string): ReadonlyMap<string, LastCrawl> {
  return new Map(state(STATE_KEYS.last + kind).map(({ key, value }) => [key, value as LastCrawl]));
}

/** Keeps the last complete walks of a lane. Forgets old ones even while the lane is open, because a lane can stay open for years. */
export function lastCrawls({ lane, kind, clock }: Pick<WorkContext<never, TopicMap>, 'lane' | 'kind' | 'clock'>): LastCrawls {
  const prefix = STATE_KEYS.last + kind;
  const now = clock.monotonicMs();
  /** Walks by key, the oldest first. `atMs`: when the walk was completed, on the monotonic clock. */
  const last = new Map(
    lane
      .stateUnder(prefix)
      .toSorted((one, other) => other.ageMs - one.ageMs)
      .map(({ key, value, ageMs }) => [key, { crawl: value as LastCrawl, atMs: now - ageMs }]),
  );
  const isOld = ({ atMs }: { readonly atMs: number }): boolean => clock.monotonicMs() - atMs > FORGET_AFTER_MS;
  lane.beforeCommit(() => {
    const forgotten: StateChange[] = [];
    for (const [key, walk] of last) {
      if (!isOld(walk)) break;
      last.delete(key);
      forgotten.push([prefix + key, null]);
    }
    return forgotten;
  });
  return {
    of(key) {
      const found = last.get(key);
      return found === undefined || isOld(found) ? undefined : found.crawl;
    },
    ended(key, crawl) {
      // Delete the key first, so that it becomes the newest in the map's order.
      last.delete(key);
      last.set(key, { crawl, atMs: clock.monotonicMs() });
      return [prefix + key, crawl];
    },
  };
}
