import { rangeChecks } from '../number-checks.ts';

const DAY_MS = 86_400_000;
/** The last instant of a `Date`, in epoch ms. */
const LAST_INSTANT_MS = 8.64e15;

/** Returns the next instant after another one, both in epoch ms. Throws a `RangeError` for an instant that a `Date` can't hold. */
export type NextReset = (afterMs: number) => number;

/**
 * Returns a function that returns the next instant at which clocks in `zone`, an IANA name, show `at`, a time `HH:MM`. If clocks skip that
 * time, the result is later by the time skipped. If they show it twice, the result is one of the two instants. Throws a `RangeError` for an
 * invalid time or zone.
 */
export function nextTimeOfDay(at: string, zone: string): NextReset {
  const timeMs = timeOfDayMs(at);
  return firstAfter(zone, (today, days) => (Math.floor(today / DAY_MS) + days) * DAY_MS + timeMs);
}

/**
 * Returns a function that returns the next instant at which clocks in `zone` show `at` on that day of a month, 1 to 31; in a shorter month
 * on its last day. The rest is as in {@link nextTimeOfDay}. Throws a `RangeError` for an invalid day, too.
 */
export function nextDayOfMonth(day: number, at: string, zone: string): NextReset {
  rangeChecks('nextDayOfMonth').whole({ day }, 1, 31);
  const timeMs = timeOfDayMs(at);
  return firstAfter(zone, (today, months) => {
    const [year, month] = [new Date(today).getUTCFullYear(), new Date(today).getUTCMonth() + months];
    const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
    return Date.UTC(year, month, Math.min(day, last)) + timeMs;
  });
}

/**
 * Returns a function that returns the first instant at which clocks in `zone` show one of the local times that `candidate` returns for
 * 0, 1, 2 …, each in ms as if it were UTC. `today` is the local time at `afterMs`.
 */
function firstAfter(zone: string, candidate: (today: number, i: number) => number): NextReset {
  const shown = shownIn(zone);
  return (afterMs) => {
    rangeChecks('a reset').number({ afterMs }, -LAST_INSTANT_MS, LAST_INSTANT_MS);
    const today = shown(afterMs);
    for (let i = 0; ; i += 1) {
      const instant = instantOf(candidate(today, i), shown);
      if (instant > afterMs) return instant;
    }
  };
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
