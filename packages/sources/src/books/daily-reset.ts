/** Ms from `nowMs` (epoch) until the next time of day `at` (`HH:MM`, UTC). Throws a `RangeError` for anything but a time of day. */
export function msUntilDaily({ at, nowMs }: { readonly at: string; readonly nowMs: number }): number {
  const time = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(at);
  if (time === null) throw new RangeError(`${JSON.stringify(at)} is no time of day; write it as "00:00"`);
  const atMs = (Number(time[1]) * 60 + Number(time[2])) * 60_000;
  const sinceMs = (((nowMs - atMs) % DAY_MS) + DAY_MS) % DAY_MS;
  return DAY_MS - sinceMs;
}

const DAY_MS = 86_400_000;
