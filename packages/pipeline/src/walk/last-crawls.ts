import type { Json } from '@headgate/throttle';
import type { StateChange } from '../engine/lane.ts';
import { STATE_KEYS } from '../engine/lane-state.ts';
import type { StateOfLane, WorkerContext } from '../engine/processor.ts';
import type { TopicMap } from '../definition/topic.ts';
import type { Crawl } from './walk-definition.ts';

/** The last complete walk of a key, in the form of the lane's state. */
export interface LastCrawl {
  /** For forecasts, as `items`. */
  readonly pages: number;
  readonly items: number;
  /** For the next walk. */
  readonly carried?: Json | undefined;
  /** For the work after the next one. */
  readonly crawl?: Omit<Crawl, 'key'> | undefined;
}

/** The last complete walk of each key, those of this run included. */
export interface LastCrawls {
  of(this: void, key: string): LastCrawl | undefined;
  /** A key's walk is complete. Returns the change that belongs into the transaction with its last page. */
  ended(this: void, key: string, crawl: LastCrawl): StateChange;
}

/** A key that hasn't been walked for this long is forgotten: the state must not grow with every key that ever existed. */
const FORGET_AFTER_MS = 90 * 86_400_000;

/** The last complete walks in a lane's state, by key. `kind`: as in `WorkerContext`. */
export function lastCrawlsIn(state: StateOfLane, kind: string): ReadonlyMap<string, LastCrawl> {
  return new Map(state(STATE_KEYS.last + kind).map(({ key, value }) => [key, value as LastCrawl]));
}

/** Remembers the last complete walks of a lane, and forgets old ones: a lane may be held for years. */
export function lastCrawls({ lane, kind, clock }: Pick<WorkerContext<never, TopicMap>, 'lane' | 'kind' | 'clock'>): LastCrawls {
  const prefix = STATE_KEYS.last + kind;
  const now = clock.monotonicMs();
  /** With the time when each was complete, ms on the monotonic clock. The oldest first. */
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
      // Behind those that were complete before it.
      last.delete(key);
      last.set(key, { crawl, atMs: clock.monotonicMs() });
      return [prefix + key, crawl];
    },
  };
}
