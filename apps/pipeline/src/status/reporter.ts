import type { RunEvent, RunGauges } from './run-event.ts';
import type { StatusClock } from './status-clock.ts';
import type { Terminal } from './terminal.ts';

export interface ReporterOptions {
  /** Where everything is written. */
  readonly stderr: Terminal;
  /** One JSON object per event, whatever `stderr` is. */
  readonly json: boolean;
  /** Colours on the live display; the caller has looked at NO_COLOR. Nothing else is ever coloured. */
  readonly color: boolean;
  readonly clock: StatusClock;
  /** How things stand, asked for at most 5 times a second and for each line that needs it. */
  readonly gauges: () => RunGauges;
  /** What runs, from where, to where: the display's first line. */
  readonly header: string;
  /** A live display; default: where `stderr` is a terminal. */
  readonly live?: boolean;
  /** The command that reads a topic; default `headgate read TOPIC`. */
  readonly readCommand?: (topic: string) => string;
  /** IANA name of the zone times are said in; default: the machine's. */
  readonly timeZone?: string;
}

export interface Reporter {
  event(event: RunEvent): void;
  /** Writes what was held back, takes the live display away and stops; the stream stays open. */
  close(): void;
}
