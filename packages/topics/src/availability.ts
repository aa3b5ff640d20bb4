/** A change in the availability of the log's brokers or file. */
export type AvailabilityChange =
  | {
      readonly available: false;
      readonly reason: string;
      /** Start of the outage, epoch ms. */
      readonly sinceMs: number;
    }
  | { readonly available: true };

/** Reports whether one client can use the log. */
export interface AvailabilityWatcher {
  /**
   * Reports that the client can't use the log. `sinceMs`: start of the outage, epoch ms; default now. Only the first report of an outage sets it.
   * `isSilent`: true if the broker that `reason` names doesn't respond. Default false.
   */
  unavailable(reason: string, sinceMs?: number, isSilent?: boolean): void;
  /** Reports that the client works again, or has failed for a reason other than an outage. */
  available(): void;
  /** Reports that the client gives up. A reported outage stays reported until another client can use the log. */
  abandoned(): void;
}

/**
 * Combines the reports of several clients: reports an outage that lasts longer than about 2 s, and its end. If there are several reasons, a broker
 * that doesn't respond comes first, because the others can follow from it.
 */
export interface Availability {
  watcher(): AvailabilityWatcher;
  close(): void;
}

/** Time before an outage is reported. Short problems, such as a change of leaders, usually pass sooner. */
export const HICCUP_MS = 2_000;

interface Missed {
  readonly reason: string;
  readonly sinceMs: number;
  readonly isSilent: boolean;
}

export function availability(onChange: (change: AvailabilityChange) => void): Availability {
  const missing = new Map<AvailabilityWatcher, Missed>();
  let isReported = false;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  const report = (): void => {
    const all = [...missing.values()];
    isReported = true;
    const sinceMs = Math.min(...all.map((each) => each.sinceMs));
    const { reason = '' } = all.find(({ isSilent }) => isSilent) ?? all[0] ?? {};
    onChange({ available: false, sinceMs, reason });
  };
  const forget = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  return {
    watcher() {
      const watcher: AvailabilityWatcher = {
        unavailable(reason, sinceMs = Date.now(), isSilent = false) {
          missing.set(watcher, { reason, sinceMs: missing.get(watcher)?.sinceMs ?? sinceMs, isSilent });
          if (!isReported && !closed) timer ??= setTimeout(report, HICCUP_MS).unref();
        },
        available() {
          missing.delete(watcher);
          if (missing.size > 0) return;
          forget();
          if (isReported && !closed) onChange({ available: true });
          isReported = false;
        },
        abandoned() {
          if (missing.delete(watcher) && missing.size === 0) forget();
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
