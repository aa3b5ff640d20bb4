/** An option of an operator has a value it can't work with. */
export class InvalidOptionError extends Error {
  override readonly name = 'InvalidOptionError';
  readonly code = 'HEADGATE_INVALID_OPTION';
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
