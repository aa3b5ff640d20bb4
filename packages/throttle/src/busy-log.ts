/** Weights and until when each is busy, in order of their ends. */
export interface BusyLog {
  /** Weight still busy at `now`. */
  busy(now: number): number;
  /** The instant at which no more than `room` is busy: `now` or earlier when that is so already, `Infinity` for negative room. */
  freeAt(room: number, now: number): number;
  add(until: number, weight: number): void;
}

/** Above this limit ends are rounded up to a thousandth of the window and counted together. */
const EXACT_UP_TO = 1_024;

/** Makes a log whose memory is bounded by the limit, or by about a thousand buckets for big limits. */
export function busyLog({ limit, windowMs }: { readonly limit: number; readonly windowMs: number }): BusyLog {
  const bucketMs = limit > EXACT_UP_TO ? windowMs / 1_000 : 0;
  let entries: { until: number; weight: number }[] = [];
  let first = 0;
  let total = 0;

  const expire = (now: number): void => {
    for (let entry = entries[first]; entry !== undefined && entry.until <= now; entry = entries[first]) {
      total -= entry.weight;
      first += 1;
    }
    if (first > 64 && first * 2 > entries.length) {
      entries = entries.slice(first);
      first = 0;
    }
  };

  return {
    busy(now) {
      expire(now);
      return total;
    },
    freeAt(room, now) {
      if (room < 0) return Infinity;
      expire(now);
      let busy = total;
      let at = now;
      for (let i = first; busy > room; i += 1) {
        const entry = entries[i];
        if (entry === undefined) return Infinity;
        busy -= entry.weight;
        at = entry.until;
      }
      return at;
    },
    add(exactUntil, weight) {
      const until = bucketMs > 0 ? Math.ceil(exactUntil / bucketMs) * bucketMs : exactUntil;
      total += weight;
      // Ends come in order, but for the requests that were given up: look from the back.
      let at = entries.length;
      for (let before = entries[at - 1]; at > first && before !== undefined && before.until > until; before = entries[at - 1]) at -= 1;
      const same = at > first ? entries[at - 1] : undefined;
      if (same?.until === until) same.weight += weight;
      else entries.splice(at, 0, { until, weight });
    },
  };
}
