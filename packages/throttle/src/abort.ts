import type { Clock } from './clock.ts';

/**
 * The callbacks that `onAbort` has registered for each signal. A signal gets only one listener, because Node's `EventTarget` goes through
 * all listeners whenever one is added or removed.
 */
const callbacksOf = new WeakMap<AbortSignal, Set<Callback>>();

type Callback = (reason: unknown) => void;

/**
 * Calls back with the reason when a signal aborts, or at once if it already has. Returns a function that stops this. In contrast, Node's
 * `events.addAbortListener` calls back later if the signal has already aborted.
 */
export function onAbort(signal: AbortSignal | undefined, callback: (reason: unknown) => void): () => void {
  if (signal?.aborted === true) callback(signal.reason);
  if (signal === undefined || signal.aborted) return () => undefined;
  const callbacks = callbacksOf.get(signal) ?? listenTo(signal);
  // A set holds a function once, but callers can pass the same function twice.
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
 * Returns a promise that `start` settles. If the signal aborts first, the promise rejects with the signal's reason. `start` can return a
 * function that ends its work. `abortable` calls this function once, when the promise settles.
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

/** Settles as `work` does, or rejects with the signal's reason if the signal aborts first. `work` itself continues. */
export function orAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  // If the signal has already aborted, nothing else handles an error of `work`.
  work.catch(() => undefined);
  return abortable(signal, (resolve, reject) => void work.then(resolve, reject));
}

/**
 * Resolves when the signal has aborted, or when `work` has settled, with or without an error. Without `work`, resolves only when the signal
 * has aborted.
 */
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
  /** Duration of the wait, in ms. */
  readonly ms: number;
  /** The wait ends when this signal aborts: `pause` rejects with its reason. */
  readonly signal: AbortSignal;
  /** Called with a function that ends the wait early. Returns a function for `pause` to call after the wait. Default: no early end. */
  readonly early?: (end: () => void) => () => void;
}

/** Waits at least `ms` by the clock, unless `early` ends the wait. Rejects with the signal's reason when the signal aborts. */
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

/** A signal that follows other signals, until `forget` is called. */
export interface AnySignal {
  /** Aborts when the first of the other signals aborts, with the same reason. */
  readonly signal: AbortSignal;
  /** Stops following the other signals. */
  forget(): void;
}

/**
 * Creates a signal that follows several signals. Unlike a signal of `AbortSignal.any` on Node 22, it leaves no reference at a long-lived
 * signal after `forget`.
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
