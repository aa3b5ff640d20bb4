import { eventQueue } from './event-queue.ts';

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
  const queue = eventQueue();
  let now = 0;
  let order = 0;

  const put = (atMs: number, callback: () => void, { ofProcess, wakes }: { ofProcess: boolean; wakes: boolean }): (() => void) => {
    order += 1;
    const event = { atMs: Math.max(now, atMs), order, callback: callback as (() => void) | undefined, ofProcess, wakes };
    queue.push(event);
    return () => {
      event.callback = undefined;
    };
  };
  const settled = (): Promise<void> => new Promise((resolve) => realTurn(resolve));

  return {
    nowMs: () => now,
    epochMs: () => START_EPOCH_MS + now,
    at: (atMs, callback) => put(atMs, callback, { ofProcess: true, wakes: true }),
    timer: (delayMs, callback) => put(Math.floor(now) + Math.max(1, Math.trunc(delayMs) || 1), callback, { ofProcess: true, wakes: true }),
    elsewhere: (atMs, callback) => {
      put(atMs, callback, { ofProcess: false, wakes: false });
    },
    killProcess() {
      for (const event of queue.all()) if (event.ofProcess) event.callback = undefined;
    },
    async runUntil(endMs) {
      await settled();
      for (let event = queue.pop(endMs); event !== undefined; event = queue.pop(endMs)) {
        const { callback, wakes } = event;
        if (callback === undefined) continue;
        now = event.atMs;
        callback();
        if (wakes) await settled();
      }
      now = endMs;
    },
  };
}
