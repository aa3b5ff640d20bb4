export interface TimeWordsOptions {
  /** IANA name of the zone times are said in; default: the machine's. */
  readonly timeZone?: string;
}

export interface TimeWords {
  /** Time of day of an instant (epoch ms): `10:31:04`. */
  time(at: number): string;
  /** An instant (epoch ms) as seen from now: `10:42:07`, `tomorrow 14:20`, `24 Nov 14:20`. */
  when(at: number, now: number): string;
}

const dayMs = 86_400_000;
const lastInstant = 8.64e15;

/** Says instants in one time zone. */
export function createTimeWords(options: TimeWordsOptions = {}): TimeWords {
  const zone = options.timeZone === undefined ? {} : { timeZone: options.timeZone };
  const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23', ...zone });
  const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', ...zone });
  const date = new Intl.DateTimeFormat('en-GB', { year: 'numeric', month: '2-digit', day: '2-digit', ...zone });

  return {
    time: (at) => (isInstant(at) ? clock.format(at) : '?'),
    when(at, now) {
      if (!isInstant(at)) return '?';
      const said = clock.format(at);
      if (date.format(at) === date.format(now)) return said;
      const toTheMinute = said.slice(0, 5);
      return date.format(at) === date.format(now + dayMs) ? `tomorrow ${toTheMinute}` : `${day.format(at)} ${toTheMinute}`;
    },
  };
}

function isInstant(at: number): boolean {
  return Number.isFinite(at) && Math.abs(at) <= lastInstant;
}
