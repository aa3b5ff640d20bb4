import type { RunEvent } from '@headgate/pipeline';

export type LogDriver = 'kafka' | 'sqlite' | 'own';

/** An event for a display: from the engine, or about the availability of the log. */
export type DisplayEvent = RunEvent | LogEvent;

export type LogEvent = LogUnavailable | { readonly type: 'log-available'; readonly driver: LogDriver };

export interface LogUnavailable {
  /** The log can't be used. Reported only after two seconds. */
  readonly type: 'log-unavailable';
  readonly driver: LogDriver;
  readonly reason: string;
  /** Start of the outage, epoch ms. */
  readonly since: number;
}
