import { rangeChecks } from '../number-checks.ts';

/** Options of {@link nextTimeOfDay}. */
export interface NextTimeOfDayOptions {
  /** Time of day, `HH:MM`, 00:00 to 23:59. */
  readonly at: string;
  /** IANA name of a time zone. */
  readonly zone: string;
  /** Epoch ms. The result is later. */
  readonly afterMs: number;
}

/** Options of {@link nextDayOfMonth}. */
export interface NextDayOfMonthOptions extends NextTimeOfDayOptions {
  /** Day of the month, 1 to 31; in a shorter month its last day. */
  readonly day: number;
}

const DAY_MS = 86_400_000;
/** The last instant of a `Date`, in epoch ms. */
const LAST_INSTANT_MS = 8.64e15;

/**
 * Returns the next instant after `afterMs`, in epoch ms, at which clocks in `zone` show `at`. If clocks skip that time, the result is later
 * by the time skipped. If they show it twice, the result is one of the two instants. Throws a `RangeError` for an invalid time or zone.
 */
export function nextTimeOfDay({ at, zone, afterMs }: NextTimeOfDayOptions): number {
  rangeChecks('a reset').number({ afterMs }, -LAST_INSTANT_MS, LAST_INSTANT_MS);
  const timeMs = timeOfDayMs(at);
  const shown = shownIn(zone);
  for (let day = Math.floor(shown(afterMs) / DAY_MS); ; day += 1) {
    const instant = instantOf(day * DAY_MS + timeMs, shown);
    if (instant > afterMs) return instant;
  }
}

/**
 * Returns the next instant after `afterMs`, in epoch ms, at which clocks in `zone` show `at` on that day of a month. If clocks skip that
 * time, the result is later by the time skipped. If they show it twice, the result is one of the two instants. Throws a `RangeError` for an
 * invalid day, time or zone.
 */
export function nextDayOfMonth({ day, at, zone, afterMs }: NextDayOfMonthOptions): number {
  rangeChecks('nextDayOfMonth').whole({ day }, 1, 31);
  rangeChecks('a reset').number({ afterMs }, -LAST_INSTANT_MS, LAST_INSTANT_MS);
  const timeMs = timeOfDayMs(at);
  const shown = shownIn(zone);
  const today = new Date(shown(afterMs));
  for (let month = today.getUTCMonth(); ; month += 1) {
    const last = new Date(Date.UTC(today.getUTCFullYear(), month + 1, 0)).getUTCDate();
    const wanted = Date.UTC(today.getUTCFullYear(), month, Math.min(day, last)) + timeMs;
    const instant = instantOf(wanted, shown);
    if (instant > afterMs) return instant;
  }
}

/** Returns the epoch ms at which clocks show `wanted`, a local time in ms as if it were UTC; later by the time skipped if they skip it. */
function instantOf(wanted: number, shown: (epochMs: number) => number): number {
  const first = wanted + (wanted - shown(wanted));
  const second = first + (wanted - shown(first));
  return shown(second) === wanted ? second : Math.max(first, second);
}

/** Returns a function that converts epoch ms to the local time in a zone, written as the epoch ms at which UTC clocks show that time. */
function shownIn(zone: string): (epochMs: number) => number {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (epochMs) => {
    const parts = new Map(format.formatToParts(epochMs).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    const seconds = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
    return seconds + (((epochMs % 1_000) + 1_000) % 1_000);
  };
}

function timeOfDayMs(at: string): number {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(at) ?? [];
  if (hours === undefined || minutes === undefined) throw new RangeError(`${JSON.stringify(at)} isn't a time of day: write 00:00 to 23:59`);
  return (Number(hours) * 60 + Number(minutes)) * 60_000;
}
