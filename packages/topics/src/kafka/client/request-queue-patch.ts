import { isKnownMethod, type RequestQueue, requestQueuePrototype } from './kafkajs-internals.ts';

/** How long requests that can't be sent yet wait for the next look, as kafkajs has it. */
const LOOK_AGAIN_MS = 10;
/** How often a connection looks for requests that have no answer in time; kafkajs does 10 times a second. */
const OVERDUE_MS = 1_000;

/** Hashes of the methods' texts in kafkajs 2.2.4. */
const KNOWN_4fa2b60aa0fe28a4fefc028706b8de18cdafc88916fae651d8cc5d359cc4553a56 = {
  scheduleCheckPendingRequests: '04347ea969c6f2e3754427c0cbaee0bd4ce947fbd82f7b6e027506a06dfc581a',
  scheduleRequestTimeoutCheck: '4fa2b60aa0fe28a4fefc028706b8de18cdafc88916fae651d8cc5d359cc4553a',
} as const;
const PATCHED = { scheduleCheckPendingRequests: lookWhenSomethingWaits, scheduleRequestTimeoutCheck: lookForOverdue } as const;

/**
 * Patches two timers in the request queue of kafkajs 2.2.4, which each connection keeps going, also an idle one. One has a negative delay: it
 * costs CPU all the time, and Node prints a TimeoutNegativeWarning (tulios/kafkajs#1704, #1751). The other looks for overdue requests 10 times a
 * second: with five connections, a process that waits would wake 50 times. A method is left alone when it is any other than the known one.
 * Answers whether the queue is patched; to be called before the first connection, and as often as one likes.
 */
export function patchRequestQueue(): boolean {
  return patchPrototype(requestQueuePrototype);
}

/** As `patchRequestQueue`, for a given prototype. */
export function patchPrototype(prototype: RequestQueue): boolean {
  const names = Object.keys(PATCHED) as (keyof typeof PATCHED)[];
  return names
    .map((name) => {
      const method: unknown = Reflect.get(prototype, name);
      if (method === PATCHED[name]) return true;
      if (!isKnownMethod(method, KNOWN_4fa2b60aa0fe28a4fefc028706b8de18cdafc88916fae651d8cc5d359cc4553a56[name])) return false;
      prototype[name] = PATCHED[name];
      return true;
    })
    .every(Boolean);
}

function lookWhenSomethingWaits(this: RequestQueue): void {
  if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return;
  const throttledMs = this.throttledUntil - Date.now();
  this.throttleCheckTimeoutId = setTimeout(
    () => {
      this.throttleCheckTimeoutId = null;
      this.checkPendingRequests();
    },
    throttledMs > 0 ? throttledMs : LOOK_AGAIN_MS,
  );
}

function lookForOverdue(this: RequestQueue): void {
  if (!this.enforceRequestTimeout) return;
  this.destroy();
  this.requestTimeoutIntervalId = setInterval(
    () => {
      for (const request of this.inflight.values()) if (Date.now() - request.sentAt > request.requestTimeout) request.timeoutRequest();
      if (!this.isConnected()) this.destroy();
    },
    Math.min(this.requestTimeout, OVERDUE_MS),
  );
}
