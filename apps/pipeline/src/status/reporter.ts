import type { Clock } from '@headgate/throttle';
import type { Units } from './format-event.ts';
import type { CommandFor } from './open-dead-letters.ts';
import type { DisplayEvent } from './display-event.ts';
import type { RunView } from './run-view.ts';
import type { Terminal } from './terminal.ts';

export interface ReporterOptions {
  /** All displays write here. */
  readonly stderr: Terminal;
  /** Whether to write one JSON object per event, even to a terminal. */
  readonly json: boolean;
  /** Whether the live display uses colors. The other displays never do. */
  readonly color: boolean;
  readonly clock: Clock;
  readonly view: () => RunView;
  /** Names of the pipelines' items. */
  readonly units: Units;
  /** First line of the display: what runs, its source and its target. */
  readonly header: string;
  /** Whether `stderr` is a terminal that can redraw lines. */
  readonly live: boolean;
  readonly commandFor: CommandFor;
  /** Time zone of displayed times. Default: the machine's. */
  readonly timeZone?: 'UTC';
}

export interface Reporter {
  event(event: DisplayEvent): void;
  /** Writes delayed lines, removes the live display, and stops. The stream stays open. */
  close(): void;
}
