import type { LimitMismatch } from './limit-check.ts';

/** One attempt of a request, after it has ended. */
export interface AttemptEvent {
  readonly service: string;
  readonly credential: string;
  readonly subject: string;
  readonly outcome: 'ok' | 'rate-limited' | 'transient' | 'unauthorized' | 'gone' | 'fatal';
  /** The status of the answer, where one came. */
  readonly status?: number;
  /** For anything but ok: what happened, in words. */
  readonly reason?: string;
  /** When it is tried again, ms from now; absent when it is not. */
  readonly retryInMs?: number;
  readonly durationMs: number;
  /** This answer, or an earlier one, shows another limit than the configured one; reported once. */
  readonly limitMismatch?: LimitMismatch;
}
