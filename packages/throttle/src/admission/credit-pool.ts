import { rangeChecks } from '../number-checks.ts';

/** Options of {@link creditPool}. */
export interface CreditPoolOptions {
  /** Maximum outstanding items: requested or delivered, and not yet acknowledged. */
  readonly max: number;
}

/**
 * Capacity downstream, counted in items. Any number of walks and sources may share a pool. Each source has its own queue, so small pages of
 * one can take the capacity that a large page of another waits for.
 */
export interface CreditPool {
  /** Maximum number of outstanding items; `Infinity` without a limit. */
  readonly max: number;
  /** Items reserved or delivered, and not yet returned. */
  readonly outstanding: number;
  /** Returns true if `items` fit now. While nothing is outstanding, any number fits, even above `max`. */
  hasRoom(items: number): boolean;
  /** Takes capacity for `items`. Throws a `RangeError` if they don't fit, or aren't a whole number from 0. */
  reserve(items: number): Credit;
  /** Calls back whenever credit is returned. Returns a function that stops this. */
  onRelease(callback: () => void): () => void;
}

/** Held credit: reserved before the request, resized to the response, released when downstream is done with it. */
export interface Credit {
  /** Items held now; 0 after `release`. */
  readonly items: number;
  /** Holds `items` from now on: usually fewer than reserved, or more if the service sent more than requested. */
  resize(items: number): void;
  /** Returns all credit. Further calls change nothing. */
  release(): void;
}

/** Creates a pool of credit. Throws a `RangeError` unless `max` is a whole number from 1 or `Infinity`. */
export function creditPool({ max }: CreditPoolOptions): CreditPool {
  const check = rangeChecks('creditPool');
  check.whole({ max }, 1, Infinity);
  const listeners = new Set<() => void>();
  let outstanding = 0;

  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  const hasRoom = (items: number): boolean => outstanding === 0 || outstanding + items <= max;

  return {
    max,
    get outstanding() {
      return outstanding;
    },
    hasRoom,
    reserve(reserved) {
      check.whole({ 'the number of items': reserved }, 0);
      if (!hasRoom(reserved)) throw new RangeError(`creditPool: ${reserved} items don't fit: ${outstanding} of ${max} are outstanding`);
      let held = reserved;
      let released = false;
      outstanding += held;
      return {
        get items() {
          return held;
        },
        resize(items) {
          check.whole({ 'the number of items': items }, 0);
          if (released) return;
          const shrinks = items < held;
          outstanding += items - held;
          held = items;
          if (shrinks) notify();
        },
        release() {
          if (released) return;
          released = true;
          outstanding -= held;
          held = 0;
          notify();
        },
      };
    },
    onRelease(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
  };
}
