import type { Failure } from './worker-protocol.ts';

/** Carries a `Failure` up through the worker to the reply; never leaves the worker itself. */
export class WorkerFailure extends Error {
  override readonly name = 'WorkerFailure';
  readonly failure: Failure;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.kind, options);
    this.failure = failure;
  }
}
