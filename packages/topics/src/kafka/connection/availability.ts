/** What changed between the log and its brokers. */
export type AvailabilityChange = { readonly available: false; readonly reason: string } | { readonly available: true };

/** One who works with the brokers, and says how that goes; `reached` also where it gives up. */
export interface AvailabilityWatcher {
  missed(reason: string): void;
  reached(): void;
}

/** Tells once that somebody can't work with the brokers, and once that all can again. Short hiccups are nobody's business. */
export interface Availability {
  watcher(): AvailabilityWatcher;
  close(): void;
}

/** kafkajs's own retries and leader moves take less. */
const HICCUP_MS = 2_000;

export function availability(tell: (change: AvailabilityChange) => void): Availability {
  const missing = new Map<AvailabilityWatcher, string>();
  let told = false;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  const tellMissing = (): void => {
    told = true;
    tell({ available: false, reason: [...missing.values()][0] ?? '' });
  };
  return {
    watcher() {
      const watcher: AvailabilityWatcher = {
        missed(reason) {
          missing.set(watcher, reason);
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
