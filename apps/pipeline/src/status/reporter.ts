import type { Clock } from '@headgate/throttle';
import type { Units } from './format-event.ts';
import type { CommandFor } from './open-dead-letters.ts';
import type { DisplayEvent } from './display-event.ts';
import type { RunView } from './run-view.ts';
import type { Terminal } from './terminal.ts';
import { plainOutput } from './text/plain-output.ts';

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

/** Creates the display of a run: JSON lines with `json`, a live display with `live`, plain lines otherwise. Loads only that module. */
export async function createReporter(options: ReporterOptions): Promise<Reporter> {
  // An error of stderr, such as a pipe that its reader has closed, doesn't end the run.
  options.stderr.on('error', () => {});
  if (options.json) return (await import('./json-lines.ts')).createJsonLines(options);
  if (options.live) return (await import('./live-display.ts')).createLiveDisplay(options);
  return (await import('./plain-lines.ts')).createPlainLines({ ...options, stderr: plainOutput(options.stderr) });
}
