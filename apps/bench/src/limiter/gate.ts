import type { Clock } from '@headgate/throttle';

export interface Answer {
  readonly accepted: boolean;
  /** Requests left in the server's window, if the answer says. */
  readonly remaining?: number;
  readonly resetInMs: number;
}

export interface Gate {
  pass(send: () => Promise<Answer>): Promise<Answer>;
  /** Tells the limiter that nothing may start for a while. Absent if the limiter can't be told. */
  hold?(forMs: number): void;
}

export interface GateOptions {
  readonly limit: number;
  readonly windowMs: number;
  /** For limiters that accept a clock. The others use the globals, which are simulated, too. */
  readonly clock: Clock;
  /** Survives a restart of the process, for limiters that store their state. */
  readonly store: object;
}

export type GateFactory = (options: GateOptions) => Gate;
