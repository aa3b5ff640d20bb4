import { eventQueue } from './event-queue.ts';

/** Simulated time: nothing happens but what was put into its queue. */
export interface World {
  nowMs(): number;
  epochMs(): number;
  /** The client's process is called back at that instant, and promises settle after it. Returns what cancels it. */
  at(atMs: number, callback: () => void): () => void;
  /** As Node's timers do it: whole ms from the last whole ms on, so up to one too early. Returns what cancels it. */
  timer(delayMs: number, callback: () => void): () => void;
  /** Something happens elsewhere, that no promise of the client waits for. */
  elsewhere(atMs: number, callback: () => void): void;
  /** The client's process dies: its timers, and answers it waits for, never come. */
  killProcess(): void;
  runUntil(endMs: number): Promise<void>;
}

// A simulation replaces the global one.
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
