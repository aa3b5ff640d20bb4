/** A clock offset is not a finite number of milliseconds. */
export class InvalidClockOffsetError extends Error {
  override readonly name = 'InvalidClockOffsetError';
  readonly code = 'HEADGATE_INVALID_CLOCK_OFFSET';
  readonly retryable = false;

  /** @param offsetMs what was given */
  constructor(offsetMs: number) {
    super(`A clock offset must be a finite number of milliseconds, not ${offsetMs}. Was the Date header of the answer read?`);
  }
}
