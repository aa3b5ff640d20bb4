import type { RunEvent } from '@headgate/pipeline';

export type LogDriver = 'kafka' | 'sqlite' | 'own';

/** All that a display is told: the engine's events, those of the log, and the run's own beginning and end. */
export type DisplayEvent = RunEvent | LogEvent;

export type LogEvent = LogUnavailable | { readonly type: 'log-available'; readonly driver: LogDriver };

export interface LogUnavailable {
  /** The brokers can't be worked with, or the file can't be written; told once that has lasted two seconds. */
  readonly type: 'log-unavailable';
  readonly driver: LogDriver;
  readonly reason: string;
  /** It answers, and refuses: the reason says which rights are missing. Told again when that changes. */
  readonly refused?: true;
  /** Epoch ms. */
  readonly since: number;
}
