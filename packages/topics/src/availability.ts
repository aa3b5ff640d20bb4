/** A change in the availability of the log's brokers or file. */
export type AvailabilityChange =
  | {
      readonly available: false;
      readonly reason: string;
      /** The brokers respond but refuse: `reason` says what the log's user may not do. */
      readonly refused?: true;
      /** The time of the last response, epoch ms; the report comes some seconds later. */
      readonly sinceMs: number;
    }
  | { readonly available: true };

/** Reports whether one client can use the log. */
export interface AvailabilityWatcher {
  /**
   * `sinceMs`: start of the outage, epoch ms; default now, or the first report. `refused` (default false): the brokers answer, and refuse.
   */
  unavailable(reason: string, sinceMs?: number, refused?: boolean): void;
  /** It works again, or its failure is none of availability. */
  available(): void;
  /** It closes without having reached them. They stay reported as unreachable until another watcher reaches them. */
  abandoned(): void;
}

/**
 * Reports once that a watcher can't work with the brokers, again when the refused resources change, and once that all watchers can work
 * again. Short hiccups go unreported.
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

export function availability(onChange: (change: AvailabilityChange) => void): Availability {
  const missing = new Map<AvailabilityWatcher, Missed>();
  /** The reported refusals, empty for an outage without one; undefined while no outage is reported. */
  let reported: string | undefined;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  const refusals = (): string => [...new Set([...missing.values()].flatMap(({ reason, refused }) => (refused ? [reason] : [])))].join('; ');
  const reportMissing = (): void => {
    const all = [...missing.values()];
    reported = refusals();
    const sinceMs = Math.min(...all.map((each) => each.sinceMs));
    onChange({ available: false, sinceMs, ...(reported === '' ? { reason: all[0]?.reason ?? '' } : { reason: reported, refused: true }) });
  };
  const report = (): void => {
    if (closed) return;
    if (reported === undefined) timer ??= setTimeout(reportMissing, HICCUP_MS).unref();
    else if (reported !== refusals()) reportMissing();
  };
  const forget = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  return {
    watcher() {
      const watcher: AvailabilityWatcher = {
        unavailable(reason, sinceMs = Date.now(), refused = false) {
          missing.set(watcher, { reason, sinceMs: missing.get(watcher)?.sinceMs ?? sinceMs, refused });
          report();
        },
        available() {
          const wasMissing = missing.delete(watcher);
          if (missing.size > 0) return wasMissing ? report() : undefined;
          forget();
          if (reported !== undefined && !closed) onChange({ available: true });
          reported = undefined;
        },
        abandoned() {
          if (!missing.delete(watcher)) return;
          if (missing.size > 0) report();
          else forget();
        },
      };
      return watcher;
    },
    close() {
      forget();
      closed = true;
    },
  };
}
