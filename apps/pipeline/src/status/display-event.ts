import type { RunEvent } from '@headgate/pipeline';

export type LogDriver = 'kafka' | 'sqlite' | 'own';

/** An event for a display: from the engine, or about the availability of the log. */
export type DisplayEvent = RunEvent | LogEvent;

export type LogEvent = LogUnavailable | { readonly type: 'log-available'; readonly driver: LogDriver };

export interface LogUnavailable {
  /** Kafka can't be used, or the embedded log can't be written. Reported only after two seconds. */
  readonly type: 'log-unavailable';
  readonly driver: LogDriver;
  readonly reason: string;
  /** The log responds but refuses: the reason names the missing rights. Reported again when that changes. */
  readonly refused?: true;
  /** Epoch ms. */
  readonly since: number;
}
