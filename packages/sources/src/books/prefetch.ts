import type { CreditPool } from '@headgate/throttle';

/**
 * Limits the items that lookups request before their turn. Responses are delivered in order, so an early one holds credit until its turn
 * comes. If early responses held all credit, the batch whose turn it is could never be requested.
 */
export interface Prefetch {
  /** Reserves `items` for an early request. Returns false if that would leave less than `spare` of the pool. */
  enter(credits: CreditPool, items: number, spare: number): boolean;
  /** Ends the reservation of `items`, because their turn has come or they were given up. */
  leave(credits: CreditPool, items: number): void;
}

/** Creates the limit that all lookups of a client share. */
export function prefetch(): Prefetch {
  const ahead = new WeakMap<CreditPool, number>();
  return {
    enter(credits, items, spare) {
      const sum = (ahead.get(credits) ?? 0) + items;
      if (sum + spare > credits.max) return false;
      ahead.set(credits, sum);
      return true;
    },
    leave(credits, items) {
      ahead.set(credits, (ahead.get(credits) ?? 0) - items);
    },
  };
}
