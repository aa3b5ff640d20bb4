/** A time zone, which converts instants to the local time that its clocks show. A local time is in ms as if it were UTC. */
export interface Zone {
  /** IANA name. */
  readonly name: string;
  /** Returns the local time at an instant, epoch ms. */
  localAt(epochMs: number): number;
  /** Returns the earliest local time that clocks show from an instant on. Before they are set back, this is earlier than the time then. */
  earliestFrom(epochMs: number): number;
  /** Returns the earliest instant at which clocks show a local time. If clocks skip it, the result is later by the time skipped. */
  instantOf(localMs: number): number;
}

export const UTC: Zone = { name: 'UTC', localAt: (ms) => ms, earliestFrom: (ms) => ms, instantOf: (ms) => ms };

const DAY_MS = 86_400_000;
/** Clocks are set at full quarters of an hour, and never back by more than three hours. */
const QUARTER_MS = 900_000;
const QUARTERS = 12;

/** Returns the zone with an IANA name, such as `Europe/Berlin`. */
export function zoneOf(name: string): Zone {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: name, timeZoneName: 'longOffset' });
  const localAt = (epochMs: number): number => {
    const [, sign, hours = '0', minutes = '0', seconds = '0'] = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(format.format(epochMs)) ?? [];
    const offsetS = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
    return epochMs + (sign === '-' ? -1 : 1) * offsetS * 1_000;
  };
  return {
    name,
    localAt,
    earliestFrom(epochMs) {
      const quarters = Array.from({ length: QUARTERS }, (_, i) => (Math.floor(epochMs / QUARTER_MS) + 1 + i) * QUARTER_MS);
      return Math.min(...[epochMs, ...quarters].map(localAt));
    },
    instantOf(localMs) {
      // The offsets of the days before and after are those on both sides of a change of the clocks.
      const instants = [-DAY_MS, DAY_MS].map((day) => localMs - (localAt(localMs + day) - (localMs + day)));
      const shown = instants.filter((instant) => localAt(instant) === localMs);
      return shown.length > 0 ? Math.min(...shown) : Math.max(...instants);
    },
  };
}
