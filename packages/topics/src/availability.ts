/** A change in the availability of the log's brokers or file. */
export type AvailabilityChange =
  | {
      readonly available: false;
      readonly reason: string;
      /** True if the brokers respond, but refuse requests. `reason` then names the rights that the log's user lacks. */
      readonly refused?: true;
      /** Start of the outage, epoch ms. */
      readonly sinceMs: number;
    }
  | { readonly available: true };

/** `refused`: the brokers respond, but refuse. `silent`: the broker that `reason` names doesn't respond. */
type OutageCause = 'refused' | 'silent';

/** Reports whether one client can use the log. */
export interface AvailabilityWatcher {
  /**
   * Reports that the client can't use the log. `sinceMs`: start of the outage, epoch ms; default now. Only the first report of an outage sets it.
   * `cause`: default undefined, if it isn't known.
   */
  unavailable(reason: string, sinceMs?: number, cause?: OutageCause): void;
  /** Reports that the client works again, or has failed for a reason other than an outage. */
  available(): void;
  /** Reports that the client gives up. A reported outage stays reported until another client can use the log. */
  abandoned(): void;
}

/**
 * Combines the reports of several clients: reports an outage that lasts longer than about 2 s, reports it again when the refusals change, and reports
 * its end. If there are several reasons, a broker that doesn't respond comes first, because the others can follow from it.
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
  readonly cause: OutageCause | undefined;
}

export function availability(onChange: (change: AvailabilityChange) => void): Availability {
  const missing = new Map<AvailabilityWatcher, Missed>();
  /** The refusals of the reported outage, empty if it has none; undefined while no outage is reported. */
  let reported: string | undefined;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  const refusals = (): string =>
    [...new Set([...missing.values()].flatMap(({ reason, cause }) => (cause === 'refused' ? [reason] : [])))].join('; ');
  const reportMissing = (): void => {
    const all = [...missing.values()];
    reported = refusals();
    const sinceMs = Math.min(...all.map((each) => each.sinceMs));
    const { reason = '' } = all.find(({ cause }) => cause === 'silent') ?? all[0] ?? {};
    onChange({ available: false, sinceMs, ...(reported === '' ? { reason } : { reason: reported, refused: true }) });
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
        unavailable(reason, sinceMs = Date.now(), cause) {
          missing.set(watcher, { reason, sinceMs: missing.get(watcher)?.sinceMs ?? sinceMs, cause });
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
