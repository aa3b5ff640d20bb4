import type { Clock, Json } from '@headgate/throttle';
import type { StateChange } from '../lane/lane.ts';
import { STATE_KEYS } from '../lane/lane-state.ts';
import type { WorkContext } from '../definition/processor.ts';
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

/** Time after which a key's last walk is forgotten. Otherwise, the state would grow with every key that was ever walked. */
const FORGET_AFTER_MS = 90 * 86_400_000;

/**
 * The last complete walk of each key of a lane, including walks of this run. Old ones are forgotten even while the lane is open, because a
 * lane can stay open for years.
 */
export class LastCrawls {
  readonly #prefix: string;
  readonly #clock: Clock;
  /** Walks by key, the oldest first. `atMs`: when the walk was completed, on the monotonic clock. */
  readonly #last: Map<string, { readonly crawl: LastCrawl; readonly atMs: number }>;

  constructor({ lane, kind, clock }: Pick<WorkContext<never, TopicMap>, 'lane' | 'kind' | 'clock'>) {
    this.#prefix = STATE_KEYS.last + kind;
    this.#clock = clock;
    const now = clock.monotonicMs();
    const kept = lane.stateUnder(this.#prefix).toSorted((one, other) => other.ageMs - one.ageMs);
    this.#last = new Map(kept.map(({ key, value, ageMs }) => [key, { crawl: value as LastCrawl, atMs: now - ageMs }]));
    lane.beforeCommit(() => this.#forgetOld());
  }

  of(key: string): LastCrawl | undefined {
    const found = this.#last.get(key);
    return found === undefined || this.#isOld(found.atMs) ? undefined : found.crawl;
  }

  /** Notes that a key's walk is complete. Returns the state change for the transaction of its last page. */
  ended(key: string, crawl: LastCrawl): StateChange {
    // Delete the key first, so that it becomes the newest in the map's order.
    this.#last.delete(key);
    this.#last.set(key, { crawl, atMs: this.#clock.monotonicMs() });
    return [this.#prefix + key, crawl];
  }

  #forgetOld(): readonly StateChange[] {
    const forgotten: StateChange[] = [];
    for (const [key, { atMs }] of this.#last) {
      if (!this.#isOld(atMs)) break;
      this.#last.delete(key);
      forgotten.push([this.#prefix + key, null]);
    }
    return forgotten;
  }

  #isOld(atMs: number): boolean {
    return this.#clock.monotonicMs() - atMs > FORGET_AFTER_MS;
  }
}
