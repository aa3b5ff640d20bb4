/** A clock offset is not a finite number of milliseconds. */
export class InvalidClockOffsetError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'InvalidClockOffsetError';
  /** Identifies the error where `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_INVALID_CLOCK_OFFSET';
  /** False: the same offset will never be a number. */
  readonly retryable = false;

  /** @param offsetMs the invalid offset */
  constructor(offsetMs: number) {
    super(`A clock offset must be a finite number of milliseconds, not ${offsetMs}. Did you read the Date header of the response?`);
  }
}
