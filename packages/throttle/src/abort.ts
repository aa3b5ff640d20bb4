import type { Clock } from './clock.ts';

/** The callbacks of each signal: an `EventTarget` goes through all its listeners for each one added or removed, so a signal has one. */
const callbacksOf = new WeakMap<AbortSignal, Set<Callback>>();

type Callback = (reason: unknown) => void;

/**
 * Calls back with the reason when a signal aborts, or at once if it already has. Returns what ends that. `events.addAbortListener` exists only in Node, and
 * calls back later if the signal has aborted.
 */
export function onAbort(signal: AbortSignal | undefined, callback: (reason: unknown) => void): () => void {
  if (signal?.aborted === true) callback(signal.reason);
  if (signal === undefined || signal.aborted) return () => undefined;
  const callbacks = callbacksOf.get(signal) ?? listenTo(signal);
  // The same function may be given twice.
  const call: Callback = (reason) => callback(reason);
  callbacks.add(call);
  return () => {
    if (!callbacks.delete(call) || callbacks.size > 0) return;
    signal.removeEventListener('abort', callAll);
    callbacksOf.delete(signal);
  };
}

function listenTo(signal: AbortSignal): Set<Callback> {
  const callbacks = new Set<Callback>();
  callbacksOf.set(signal, callbacks);
  signal.addEventListener('abort', callAll, { once: true });
  return callbacks;
}

function callAll({ target }: Event): void {
  const signal = target as AbortSignal;
  const callbacks = callbacksOf.get(signal) ?? [];
  callbacksOf.delete(signal);
  for (const call of callbacks) call(signal.reason);
}

/**
 * A promise that `start` settles. Rejects with the signal's reason once that aborts. `start` may return what ends its work: that is called
 * once, when the promise has settled.
 */
export function abortable<T>(
  signal: AbortSignal | undefined,
  start: (resolve: (value: T) => void, reject: (reason: unknown) => void) => (() => void) | void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    let isSettled = false;
    let end: (() => void) | void = undefined;
    const settle = (how: () => void): void => {
      if (isSettled) return;
      isSettled = true;
      forget();
      end?.();
      how();
    };
    const fail = (reason: unknown): void => settle(() => reject(reason));
    const forget = onAbort(signal, fail);
    try {
      end = start((value) => settle(() => resolve(value)), fail);
    } catch (error) {
      fail(error);
    }
    if (isSettled) end?.();
  });
}

/** Settles as `work` does, or rejects with the signal's reason if that aborts first. `work` itself continues. */
export function orAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  // Nothing else handles an error that comes after the abort.
  work.catch(() => undefined);
  return abortable(signal, (resolve, reject) => void work.then(resolve, reject));
}

/** Resolves when the signal has aborted, or when `work` has settled, with or without an error. Default: only when it has aborted. */
export async function untilAborted(
  signal: AbortSignal | undefined,
  work: Promise<unknown> = new Promise(() => undefined),
): Promise<undefined> {
  await orAborted(signal, work).catch(() => undefined);
}

/** Options of {@link pause}. */
export interface PauseOptions {
  /** Measures the wait. */
  readonly clock: Clock;
  /** Minimum duration. */
  readonly ms: number;
  /** Ends the wait with its reason. */
  readonly signal: AbortSignal;
  /** Receives a function that ends the wait early. Returns what cancels that. Default: no early end. */
  readonly early?: (end: () => void) => () => void;
}

/** Waits, never less than `ms` by the clock. Rejects with the signal's reason once that aborts. */
export function pause({ clock, ms, signal, early }: PauseOptions): Promise<void> {
  return abortable(signal, (resolve) => {
    const until = clock.monotonicMs() + ms;
    let cancelTimer = (): void => undefined;
    const wait = (): void => {
      const leftMs = until - clock.monotonicMs();
      if (leftMs > 0) cancelTimer = clock.schedule(leftMs, wait);
      else resolve();
    };
    wait();
    const cancelEarly = early?.(resolve);
    return () => {
      cancelTimer();
      cancelEarly?.();
    };
  });
}

/** A signal that follows others until it is told to forget them. */
export interface AnySignal {
  /** Aborts with the first of them, and with its reason. */
  readonly signal: AbortSignal;
  /** Ends that: nothing aborts it any more. */
  forget(): void;
}

/**
 * Follows several signals for a while. On Node 22, `AbortSignal.any` leaves each follower at a long-lived signal, and took 200 times as long
 * for 300,000 of them.
 */
export function anySignal(signals: readonly (AbortSignal | undefined)[]): AnySignal {
  const abort = new AbortController();
  const forgets: (() => void)[] = [];
  const forget = (): void => {
    for (const forgetOne of forgets) forgetOne();
  };
  for (const signal of signals) {
    if (abort.signal.aborted) break;
    const follow = (reason: unknown): void => {
      forget();
      abort.abort(reason);
    };
    forgets.push(onAbort(signal, follow));
  }
  return { signal: abort.signal, forget };
}

/** Calls back with the reason when the signal that was given last aborts. Readers get one with each read, and hold credit between reads as well. */
export function latestSignal(callback: (reason: unknown) => void): (signal: AbortSignal | undefined) => void {
  let watched: AbortSignal | undefined;
  let forget = (): void => undefined;
  return (signal) => {
    if (signal === watched) return;
    forget();
    watched = signal;
    forget = onAbort(signal, callback);
  };
}
