/** What changed between the log and its brokers, or its file. */
export type AvailabilityChange =
  | {
      readonly available: false;
      readonly reason: string;
      /** The brokers answer, and refuse: `reason` says what the log's user may not do. */
      readonly refused?: true;
      /** Since when nothing has come back, epoch ms: that is told some seconds later. */
      readonly sinceMs: number;
    }
  | { readonly available: true };

/** One who works with them, and says how that goes; `reached` also where it gives up. */
export interface AvailabilityWatcher {
  /** `sinceMs`: since when it has, epoch ms; default now, or when it was first told. `refused` (default false): they answer, and refuse. */
  missed(reason: string, sinceMs?: number, refused?: boolean): void;
  reached(): void;
}

/**
 * Tells once that somebody can't work with them, again where what is refused has changed, and once that all can again. Short hiccups are
 * nobody's business.
 */
export interface Availability {
  watcher(): AvailabilityWatcher;
  close(): void;
}

/** kafkajs's own retries and leader moves take less. */
const HICCUP_MS = 2_000;

interface Missed {
  readonly reason: string;
  readonly sinceMs: number;
  readonly refused: boolean;
}

export function availability(tell: (change: AvailabilityChange) => void): Availability {
  const missing = new Map<AvailabilityWatcher, Missed>();
  /** What was told to be refused, empty where nothing is; undefined where nothing is told. */
  let told: string | undefined;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  const refusals = (): string => [...new Set([...missing.values()].flatMap(({ reason, refused }) => (refused ? [reason] : [])))].join('; ');
  const tellMissing = (): void => {
    const all = [...missing.values()];
    told = refusals();
    const sinceMs = Math.min(...all.map((each) => each.sinceMs));
    tell({ available: false, sinceMs, ...(told === '' ? { reason: all[0]?.reason ?? '' } : { reason: told, refused: true }) });
  };
  const look = (): void => {
    if (closed) return;
    if (told === undefined) timer ??= setTimeout(tellMissing, HICCUP_MS).unref();
    else if (told !== refusals()) tellMissing();
  };
  return {
    watcher() {
      const watcher: AvailabilityWatcher = {
        missed(reason, sinceMs = Date.now(), refused = false) {
          missing.set(watcher, { reason, sinceMs: missing.get(watcher)?.sinceMs ?? sinceMs, refused });
          look();
        },
        reached() {
          if (!missing.delete(watcher)) return;
          if (missing.size > 0) return look();
          clearTimeout(timer);
          timer = undefined;
          if (told !== undefined && !closed) tell({ available: true });
          told = undefined;
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
