/** What changed between the log and its brokers, or its file. */
export type AvailabilityChange =
  | {
      readonly available: false;
      readonly reason: string;
      /** Since when nothing has come back, epoch ms: that is told some seconds later. */
      readonly sinceMs: number;
    }
  | { readonly available: true };

/** One who works with them, and says how that goes; `reached` also where it gives up. */
export interface AvailabilityWatcher {
  /** `sinceMs`: since when it has, epoch ms; default now, or when it was first told. */
  missed(reason: string, sinceMs?: number): void;
  reached(): void;
}

/** Tells once that somebody can't work with them, and once that all can again. Short hiccups are nobody's business. */
export interface Availability {
  watcher(): AvailabilityWatcher;
  close(): void;
}

/** kafkajs's own retries and leader moves take less. */
const HICCUP_MS = 2_000;

export function availability(tell: (change: AvailabilityChange) => void): Availability {
  const missing = new Map<AvailabilityWatcher, { readonly reason: string; readonly sinceMs: number }>();
  let told = false;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  const tellMissing = (): void => {
    told = true;
    const all = [...missing.values()];
    tell({ available: false, reason: all[0]?.reason ?? '', sinceMs: Math.min(...all.map(({ sinceMs }) => sinceMs)) });
  };
  return {
    watcher() {
      const watcher: AvailabilityWatcher = {
        missed(reason, sinceMs = Date.now()) {
          missing.set(watcher, { reason, sinceMs: missing.get(watcher)?.sinceMs ?? sinceMs });
          if (!told && !closed) timer ??= setTimeout(tellMissing, HICCUP_MS).unref();
        },
        reached() {
          if (!missing.delete(watcher) || missing.size > 0) return;
          clearTimeout(timer);
          timer = undefined;
          if (told && !closed) tell({ available: true });
          told = false;
        },
      };
      return watcher;
    },
    close() {
      clearTimeout(timer);
      closed = true;
    },
  };
}
