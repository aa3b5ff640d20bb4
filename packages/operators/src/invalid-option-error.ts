/** An option of an operator has a value it can't work with. */
export class InvalidOptionError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'InvalidOptionError';
  /** Identifies the error where `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_INVALID_OPTION';
  /** False: the option itself must be changed. */
  readonly retryable = false;

  /**
   * @param operator whose option it is, such as `batch`
   * @param option the option, such as `size`
   * @param reason what it must be, and what it was
   */
  constructor(operator: string, option: string, reason: string) {
    super(`Option ${option} of ${operator} ${reason}.`);
  }
}
