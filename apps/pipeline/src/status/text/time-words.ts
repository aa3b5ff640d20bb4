export interface TimeWordsOptions {
  /** Time zone of the output. Default: the machine's. */
  readonly timeZone?: 'UTC';
}

export interface TimeWords {
  /** Time of day of an instant (epoch ms): `10:31:04`. */
  time(at: number): string;
  /** An instant (epoch ms) as seen from now: `10:42:07`, `tomorrow 14:20`, `24 Nov 14:20`. */
  when(at: number, now: number): string;
}

const dayMs = 86_400_000;
/** The latest time (epoch ms) that can be formatted, two days before the end of JavaScript's calendar. `when` adds a day to it. */
const lastInstant = 8.64e15 - 2 * dayMs;
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sept', 'Oct', 'Nov', 'Dec'];

/** Formats instants in one time zone. `Intl` would need more memory. */
export function createTimeWords({ timeZone }: TimeWordsOptions = {}): TimeWords {
  /** A time in the chosen zone, in ISO form: `2026-11-24T14:20:00.000Z`. The Z has no meaning here. */
  const shown = (at: number): string => {
    const offsetMinutes = timeZone === 'UTC' ? 0 : new Date(at).getTimezoneOffset();
    return new Date(at - offsetMinutes * 60_000).toISOString();
  };

  return {
    time: (at) => (isInstant(at) ? timeOf(shown(at)) : '?'),
    when(at, now) {
      if (!isInstant(at)) return '?';
      const then = shown(at);
      if (dateOf(then) === dateOf(shown(now))) return timeOf(then);
      const toTheMinute = timeOf(then).slice(0, 5);
      if (dateOf(then) === dateOf(shown(now + dayMs))) return `tomorrow ${toTheMinute}`;
      const [month, day] = dateOf(then).split('-').slice(-2).map(Number);
      return `${day} ${months[(month ?? 0) - 1]} ${toTheMinute}`;
    },
  };
}

function dateOf(shown: string): string {
  return shown.slice(0, -'T14:20:00.000Z'.length);
}

function timeOf(shown: string): string {
  return shown.slice(-'14:20:00.000Z'.length, -'.000Z'.length);
}

function isInstant(at: number): boolean {
  return Number.isFinite(at) && Math.abs(at) <= lastInstant;
}
