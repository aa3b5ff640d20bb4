import type { RunEvent } from '@headgate/pipeline';

export type LogDriver = 'kafka' | 'sqlite' | 'own';

/** Everything that a display gets: the engine's events, those of the log, and the start and end of the run. */
export type DisplayEvent = RunEvent | LogEvent;

export type LogEvent = LogUnavailable | { readonly type: 'log-available'; readonly driver: LogDriver };

export interface LogUnavailable {
  /** The brokers can't be worked with, or the file can't be written; told once that has lasted two seconds. */
  readonly type: 'log-unavailable';
  readonly driver: LogDriver;
  readonly reason: string;
  /** The log responds but refuses: the reason names the missing rights. Reported again when that changes. */
  readonly refused?: true;
  /** Epoch ms. */
  readonly since: number;
}
