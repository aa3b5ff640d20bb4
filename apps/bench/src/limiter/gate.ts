import type { Clock } from '@headgate/throttle';

/** The contents of a server's answer. */
export interface Answer {
  readonly accepted: boolean;
  /** Requests left in the server's window and whole seconds to its end, in ms, where the answer tells. */
  readonly remaining?: number;
  readonly resetInMs: number;
}

/** A limiter at work: whatever is sent goes through it. */
export interface Gate {
  pass(send: () => Promise<Answer>): Promise<Answer>;
  /** Where the limiter can be told that nothing may start for a while. */
  hold?(forMs: number): void;
}

export interface GateOptions {
  readonly limit: number;
  readonly windowMs: number;
  /** For those that take one; the others use the globals, which are simulated too. */
  readonly clock: Clock;
  /** Outlives the process: for those that can keep something. */
  readonly store: object;
}

export type GateFactory = (options: GateOptions) => Gate;
