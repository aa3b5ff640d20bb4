export interface NextTimeOfDayOptions {
  /** `HH:MM`, 00:00 to 23:59. */
  readonly at: string;
  /** IANA name of a time zone. */
  readonly zone: string;
  /** Epoch ms. */
  readonly afterMs: number;
}

const DAY_MS = 86_400_000;

/** The next instant after `afterMs`, in epoch ms, at which clocks in `zone` show `at`. Throws a `RangeError` for a time or zone that isn't one. */
export function nextTimeOfDay({ at, zone, afterMs }: NextTimeOfDayOptions): number {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(at) ?? [];
  if (hours === undefined || minutes === undefined) throw new RangeError(`${JSON.stringify(at)} is no time of day: write 00:00 to 23:59`);
  const wanted = (Number(hours) * 60 + Number(minutes)) * 60_000;
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  const shown = (epochMs: number): number => {
    const [h = 0, m = 0, s = 0] = format.format(epochMs).split(':').map(Number);
    return ((h * 60 + m) * 60 + s) * 1_000 + (((epochMs % 1_000) + 1_000) % 1_000);
  };
  const ahead = (epochMs: number): number => (((wanted - shown(epochMs)) % DAY_MS) + DAY_MS) % DAY_MS;
  const first = afterMs + (ahead(afterMs) || DAY_MS);
  // Where clocks were changed on the way it shows something else: a day can have 23 or 25 hours.
  const off = ahead(first);
  const corrected = first + (off > DAY_MS / 2 ? off - DAY_MS : off);
  return corrected > afterMs ? corrected : corrected + DAY_MS;
}
