/** The codes of an {@link OperatorError}. */
export type OperatorErrorCode =
  /** A text isn't an ISBN. */
  | 'HEADGATE_INVALID_ISBN'
  /** A text isn't an ID: an unsigned whole number of at most 64 bits, in decimal digits without leading zeros. */
  | 'HEADGATE_INVALID_ID'
  /** An option of an operator, or an attribute of an event, has an invalid value. */
  | 'HEADGATE_INVALID_OPTION';

/** A text or an option is invalid. The message names the text or option, and says why. */
export class OperatorError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'OperatorError';
  /** Identifies the kind of error, even if two copies of this package make `instanceof` fail. */
  readonly code: OperatorErrorCode;
  /** Always false: the text or the option must be changed. */
  readonly retryable = false;
  /** The problem, as the end of a sentence that starts with the text or the option. */
  readonly reason: string;

  constructor(code: OperatorErrorCode, subject: string, reason: string) {
    super(`${subject} ${reason}.`);
    this.code = code;
    this.reason = reason;
  }
}

/** `operator`: the function that has the option, such as `batch`. `reason`: the rule that the value breaks, such as `must not be empty`. */
export function invalidOption(operator: string, option: string, reason: string): OperatorError {
  return new OperatorError('HEADGATE_INVALID_OPTION', `Option ${option} of ${operator}`, reason);
}

export function invalidIsbn(text: string, flaw: string): OperatorError {
  return new OperatorError('HEADGATE_INVALID_ISBN', quoted(text), `isn't an ISBN: ${flaw}`);
}

export function invalidId(text: string): OperatorError {
  const reason = "isn't an ID. IDs are 0 to 18446744073709551615, in decimal digits without leading zeros";
  return new OperatorError('HEADGATE_INVALID_ID', quoted(text), reason);
}

/** Quotes a text for a message: its first 40 characters, as JSON, because the text can be long or have several lines. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
