import { type RequestQueue, requestQueuePrototype, type SentRequest } from './kafkajs-internals.ts';

/** How long requests that can't be sent yet wait for the next look, as kafkajs has it. */
const LOOK_AGAIN_MS = 10;
/** How often a connection looks for requests that have no answer in time; kafkajs does 10 times a second. */
const OVERDUE_MS = 1_000;

/**
 * Patches two timers in the request queue of kafkajs 2.2.4, which each connection keeps going, also an idle one. One has a negative delay: it
 * costs CPU all the time, and Node prints a TimeoutNegativeWarning (tulios/kafkajs#1704, #1751). The other looks for overdue requests 10 times a
 * second, by the wall clock: with five connections, a process that waits would wake 50 times. To be called before the first connection, and as often as one likes.
 */
export function patchRequestQueue(): void {
  Object.assign(requestQueuePrototype, {
    scheduleCheckPendingRequests: lookWhenSomethingWaits,
    scheduleRequestTimeoutCheck: lookForOverdue,
  });
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
  const everyMs = Math.min(this.requestTimeout, OVERDUE_MS);
  // They are counted, not timed: the wall clock may be set, and a process that was stopped finds its answers only when it goes on.
  const looksWithoutAnswer = new WeakMap<SentRequest, number>();
  this.requestTimeoutIntervalId = setInterval(() => {
    for (const request of this.inflight.values()) {
      const before = looksWithoutAnswer.get(request) ?? 0;
      looksWithoutAnswer.set(request, before + 1);
      if (before * everyMs >= request.requestTimeout) request.timeoutRequest();
    }
    if (!this.isConnected()) this.destroy();
  }, everyMs);
}
