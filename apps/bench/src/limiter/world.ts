import { EventQueue } from './event-queue.ts';

/** Simulated time. It moves only from event to event of a queue. */
export interface World {
  nowMs(): number;
  epochMs(): number;
  /** Calls the client's process at a time, and then lets promises settle. Returns a function that cancels the call. */
  at(atMs: number, callback: () => void): () => void;
  /**
   * Starts a timer that rounds as Node's do: it drops fractions of a ms from the time and from the delay, so it can fire early. Returns a
   * function that cancels it.
   */
  timer(delayMs: number, callback: () => void): () => void;
  /** Schedules an event outside of the client's process, for which no promise of the client waits. */
  elsewhere(atMs: number, callback: () => void): void;
  /** Kills the client's process: its timers never fire, and the answers that it waits for never arrive. */
  killProcess(): void;
  runUntil(endMs: number): Promise<void>;
}

// A simulation replaces the global `setImmediate`, so the real one is kept here.
const { setImmediate: realTurn } = globalThis;
const START_EPOCH_MS = Date.UTC(2026, 0, 1) + 0.37;

export function world(): World {
  const queue = new EventQueue();
  let now = 0;

  const put = (atMs: number, callback: () => void, ofProcess: boolean): (() => void) => {
    const event = { atMs: Math.max(now, atMs), callback: callback as (() => void) | undefined, ofProcess };
    queue.push(event);
    return () => {
      event.callback = undefined;
    };
  };
  const settled = (): Promise<void> => new Promise((resolve) => realTurn(resolve));

  return {
    nowMs: () => now,
    epochMs: () => START_EPOCH_MS + now,
    at: (atMs, callback) => put(atMs, callback, true),
    timer: (delayMs, callback) => put(Math.floor(now) + Math.max(1, Math.trunc(delayMs) || 1), callback, true),
    elsewhere: (atMs, callback) => {
      put(atMs, callback, false);
    },
    killProcess() {
      for (const event of queue.all()) if (event.ofProcess) event.callback = undefined;
    },
    async runUntil(endMs) {
      await settled();
      for (let event = queue.pop(endMs); event !== undefined; event = queue.pop(endMs)) {
        const { callback, ofProcess } = event;
        if (callback === undefined) continue;
        now = event.atMs;
        callback();
        if (ofProcess) await settled();
      }
      now = endMs;
    },
  };
}
