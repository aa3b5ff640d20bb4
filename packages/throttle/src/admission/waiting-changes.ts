import { Observable } from 'rxjs';
import type { Clock } from '../clock.ts';

/** A request in the queue, and what it waits for. */
export interface Waiting {
  /** The request's name, as in `AcquireOptions.label`; empty by default. */
  readonly label: string;
  /** A slot of a budget, or capacity in the credit pool. */
  readonly for: 'budget' | 'downstream';
  /** Epoch ms at which the wait ends, if that is known. */
  readonly until?: number;
  /** Its cost in each budget, if the request named one. */
  readonly weights?: readonly number[];
  /** Its walk, if the request named one. */
  readonly walk?: object;
}

export interface WaitingChangesOptions {
  readonly clock: Clock;
  readonly waiting: () => readonly Waiting[];
}

export interface WaitingChanges {
  /** Emits who waits, at once and when that has changed. */
  readonly changes: Observable<readonly Waiting[]>;
  /** Something has happened by which it may have changed. */
  look(): void;
}

/** A list of at most this length is checked in every turn, a longer one less often, so that checks take 1 % of the time. */
const SHORT = 100;
/** The wall clock counts whole ms, so two readings of one instant may differ by this. */
const SAME_INSTANT_MS = 2;

/** Reports the changes of waiting requests to its subscribers, once per turn of the event loop. */
export function waitingChanges({ clock, waiting }: WaitingChangesOptions): WaitingChanges {
  const tells = new Set<(all: readonly Waiting[]) => void>();
  let told: readonly Waiting[] = [];
  let lookedAtMs = -Infinity;
  let cancel: (() => void) | undefined;

  const tell = (): void => {
    cancel = undefined;
    const now = waiting();
    lookedAtMs = clock.monotonicMs();
    if (isSame(now, told)) return;
    told = now;
    for (const one of tells) one(now);
  };
  const soon = (): (() => void) => {
    let isWanted = true;
    queueMicrotask(() => {
      if (isWanted) tell();
    });
    return () => (isWanted = false);
  };

  return {
    look() {
      if (tells.size === 0 || cancel !== undefined) return;
      const waitMs = told.length > SHORT ? lookedAtMs + told.length / SHORT - clock.monotonicMs() : 0;
      cancel = waitMs > 0 ? clock.schedule(waitMs, tell) : soon();
    },
    changes: new Observable((subscriber) => {
      const one = (all: readonly Waiting[]): void => subscriber.next(all);
      const now = waiting();
      // Earlier subscribers get it with the next check.
      if (tells.size === 0) told = now;
      tells.add(one);
      one(now);
      return () => {
        tells.delete(one);
        if (tells.size > 0) return;
        cancel?.();
        cancel = undefined;
      };
    }),
  };
}

function isSame(some: readonly Waiting[], others: readonly Waiting[]): boolean {
  return some.length === others.length && some.every((one, i) => isAlike(one, others[i]));
}

function isAlike(one: Waiting, other: Waiting | undefined): boolean {
  return (
    one.label === other?.label &&
    one.for === other.for &&
    String(one.weights) === String(other.weights) &&
    (one.until === other.until || Math.abs((one.until ?? NaN) - (other.until ?? NaN)) <= SAME_INSTANT_MS)
  );
}
