import type { AcquireOptions, Admission, Permit, Waiting } from './admission.ts';
import type { Clock } from '../clock.ts';
import type { Ahead, CredentialPool, Grant } from './credential-pool.ts';
import type { Credit, CreditPool } from './credit-pool.ts';

interface PlainQueued {
  readonly walk?: object | undefined;
  readonly share?: number;
  readonly rank?: number;
  turn: number;
}

interface Waiter extends AcquireOptions, PlainQueued {
  readonly weights: readonly number[];
  readonly resolve: (permit: Permit) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The simplest admission: one list of waiting requests, scanned from its beginning at every event. The real `admission` must grant the same
 * permits in the same order.
 */
export function plainAdmission({ pool, clock }: { readonly pool: CredentialPool; readonly clock: Clock }): Admission {
  const queue = new PlainFairQueue<Waiter>();
  const watched = new Map<CreditPool, { waiters: number; readonly unwatch: () => void }>();
  let cancelTimer: (() => void) | undefined;

  const add = (waiter: Waiter): void => {
    const { credits } = waiter;
    queue.add(waiter);
    const watch = watched.get(credits);
    if (watch === undefined) watched.set(credits, { waiters: 1, unwatch: credits.onRelease(wake) });
    else watch.waiters += 1;
  };
  const remove = (waiter: Waiter): boolean => {
    if (!queue.delete(waiter)) return false;
    const { credits } = waiter;
    const watch = watched.get(credits);
    if (watch !== undefined) {
      watch.waiters -= 1;
      if (watch.waiters === 0) {
        watch.unwatch();
        watched.delete(credits);
      }
    }
    return true;
  };

  const wake = (): void => {
    cancelTimer?.();
    cancelTimer = undefined;
    const wakeAt = serve();
    if (wakeAt < Infinity) cancelTimer = clock.schedule(Math.max(0, wakeAt - clock.monotonicMs()), wake);
  };

  const refuse = (): void => {
    for (const waiter of queue) {
      const { weights, among } = waiter;
      if (pool.bears(weights, among)) continue;
      remove(waiter);
      waiter.reject(pool.exhausted ?? tooHeavy(weights));
    }
  };

  const serve = (): number => {
    refuse();
    const ahead: Ahead[] = [];
    let wakeAt = Infinity;
    const full = new Set<CreditPool>();
    for (const waiter of queue) {
      const { weights, among, credits, items, countedWithinMs } = waiter;
      // If a request doesn't fit, later ones of the same downstream wait, too. Otherwise small pages would starve a large one.
      if (full.has(credits) || !credits.hasRoom(items)) {
        full.add(credits);
        continue;
      }
      if (ahead.some((one) => isWithin(among, one.among) && costsAsMuch(weights, one.weights))) continue;
      const at = pool.freeAt(weights, undefined, among);
      const grant = at <= clock.monotonicMs() ? pool.tryTake(weights, { among, ahead, countedWithinMs }) : undefined;
      if (grant === undefined) {
        if (at > clock.monotonicMs()) wakeAt = Math.min(wakeAt, at);
        ahead.push({ weights, among });
        continue;
      }
      remove(waiter);
      // This turn isn't over while an earlier request that shares a credential with this one waits.
      if (ahead.every((one) => !overlap(among, one.among))) queue.served(waiter);
      hand(waiter, grant, credits.reserve(items));
    }
    return wakeAt;
  };

  const hand = (waiter: Waiter, grant: Grant, credit: Credit): void => {
    const permit = permitOf(grant, credit, wake);
    if (grant.durable === undefined) {
      waiter.resolve(permit);
      return;
    }
    const giveBack = (reason: unknown): void => {
      permit.aborted();
      credit.release();
      waiter.reject(reason);
    };
    grant.durable.then(() => {
      if (waiter.signal?.aborted === true) giveBack(waiter.signal.reason);
      else waiter.resolve(permit);
    }, giveBack);
  };

  const waiting = (): readonly Waiting[] => {
    const offset = clock.epochMs() - clock.monotonicMs();
    let first: number | undefined;
    return [...queue].map(({ label, weights, among, credits, items }) => {
      const said = label === undefined ? {} : { label };
      if (!credits.hasRoom(items)) return { ...said, for: 'downstream' as const };
      const own = pool.bears(weights, among) ? pool.freeAt(weights, undefined, among) : Infinity;
      const at = own === -Infinity ? (first ?? own) : own;
      first = Math.min(first ?? Infinity, at);
      return { ...said, for: 'budget' as const, ...(Number.isFinite(at) && { until: at + offset }) };
    });
  };

  return {
    acquire(options) {
      const { signal, weights = [], among } = options;
      return new Promise<Permit>((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason);
          return;
        }
        if (pool.exhausted === undefined && !pool.bears(weights, among)) {
          reject(tooHeavy(weights));
          return;
        }
        const waiter: Waiter = {
          ...options,
          weights,
          turn: 0,
          resolve: (granted) => {
            signal?.removeEventListener('abort', abort);
            resolve(granted);
          },
          reject: (reason) => {
            signal?.removeEventListener('abort', abort);
            reject(reason);
          },
        };
        const abort = (): void => {
          const wasWaiting = remove(waiter);
          waiter.reject(signal?.reason);
          if (wasWaiting) wake();
        };
        signal?.addEventListener('abort', abort);
        add(waiter);
        wake();
      });
    },
    waiting,
    wake,
  };
}

function tooHeavy(weights: readonly number[]): RangeError {
  return new RangeError(`admission: no credential's limits are large enough for weights of ${weights.join(', ')}`);
}

function isWithin(among: Ahead['among'], other: Ahead['among']): boolean {
  return other === undefined || (among !== undefined && among.every((name) => other.includes(name)));
}

function overlap(among: Ahead['among'], other: Ahead['among']): boolean {
  return among === undefined || other === undefined || among.some((name) => other.includes(name));
}

function costsAsMuch(one: readonly number[], other: readonly number[]): boolean {
  return Array.from({ length: Math.max(one.length, other.length) }, (_, i) => (one[i] ?? 1) >= (other[i] ?? 1)).every(Boolean);
}

function permitOf(grant: Grant, credit: Credit, wake: () => void): Permit {
  return {
    credential: grant.credential,
    credit,
    sent: () => grant.sent(),
    corrected: (costs) => {
      grant.corrected(costs);
      wake();
    },
    answered: () => {
      grant.answered();
      wake();
    },
    unsent: () => {
      grant.unsent();
      wake();
    },
    aborted: () => {
      grant.aborted();
      wake();
    },
    [Symbol.dispose]: () => {
      throw new Error('the model has no scopes');
    },
  };
}

function isAfter({ rank = 0, turn }: PlainQueued, { rank: other = 0, turn: otherTurn }: PlainQueued): boolean {
  return rank > other || (rank === other && turn > otherTurn);
}

/** A fair queue in one sorted array. */
class PlainFairQueue<Entry extends PlainQueued> implements Iterable<Entry> {
  #entries: Entry[] = [];
  readonly #lastTurns = new Map<object, number>();
  /** The highest turn that is over. A turn is over when the next entry is served. */
  #now = 0;
  #current = 0;

  add(entry: Entry): void {
    const { walk, share = 1 } = entry;
    const last = (walk === undefined ? undefined : this.#lastTurns.get(walk)) ?? 0;
    // A turn is the virtual end of the service, not its start. In the order of starts, new walks would overtake walks that were just
    // served.
    entry.turn = Math.max(this.#now, last) + 1 / share;
    if (walk !== undefined) this.#lastTurns.set(walk, entry.turn);
    let at = this.#entries.length;
    for (let before = this.#entries[at - 1]; before !== undefined && isAfter(before, entry); before = this.#entries[at - 1]) at -= 1;
    this.#entries.splice(at, 0, entry);
  }

  delete(entry: Entry): boolean {
    const at = this.#entries.indexOf(entry);
    if (at === -1) return false;
    this.#entries = this.#entries.toSpliced(at, 1);
    return true;
  }

  served({ turn }: Entry): void {
    if (this.#current > this.#now) this.#endTurn();
    this.#current = Math.max(this.#current, turn);
  }

  /** Iterates in the order of turns. Entries may be deleted during the iteration. */
  [Symbol.iterator](): Iterator<Entry> {
    return this.#entries.values();
  }

  #endTurn(): void {
    this.#now = this.#current;
    for (const [walk, last] of this.#lastTurns) if (last <= this.#now) this.#lastTurns.delete(walk);
  }
}
