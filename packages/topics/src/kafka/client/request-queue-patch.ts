import { isKnownMethod, type RequestQueue, requestQueuePrototype } from './kafkajs-internals.ts';

/** How long requests that can't be sent yet wait for the next look, as kafkajs has it. */
const LOOK_AGAIN_MS = 10;

/** Hash of the text of `scheduleCheckPendingRequests` in kafkajs 2.2.4. */
const KNOWN_SHA256 = '04347ea969c6f2e3754427c0cbaee0bd4ce947fbd82f7b6e027506a06dfc581a';

/**
 * Patches the request queue of kafkajs 2.2.4, which keeps a timer with a negative delay going on each connection, also an idle one: it costs
 * CPU all the time, and Node prints a TimeoutNegativeWarning (tulios/kafkajs#1704, #1751). Nothing is touched when the method is any
 * other than the known one. Answers whether the queue is patched; to be called before the first connection, and as often as one likes.
 */
export function patchRequestQueue(): boolean {
  return patchPrototype(requestQueuePrototype);
}

/** As `patchRequestQueue`, for a given prototype. */
export function patchPrototype(prototype: RequestQueue): boolean {
  const method: unknown = Reflect.get(prototype, 'scheduleCheckPendingRequests');
  if (method === lookWhenSomethingWaits) return true;
  if (!isKnownMethod(method, KNOWN_SHA256)) return false;
  prototype.scheduleCheckPendingRequests = lookWhenSomethingWaits;
  return true;
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
