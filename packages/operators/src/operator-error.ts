/** The reasons of an {@link OperatorError}. */
export type OperatorErrorCode =
  /** A text isn't an ISBN. */
  | 'HEADGATE_INVALID_ISBN'
  /** A text isn't an ID: an unsigned whole number of at most 64 bits, in decimal digits without leading zeros. */
  | 'HEADGATE_INVALID_ID'
  /** An option of an operator, or an attribute of an event, has a value it can't work with. */
  | 'HEADGATE_INVALID_OPTION';

/** An operator can't work with a text or an option. The message says which and why. */
export class OperatorError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'OperatorError';
  /** Identifies the error where `instanceof` can't: in a program with two copies of this package. */
  readonly code: OperatorErrorCode;
  /** False: the text or the option must be changed. */
  readonly retryable = false;
  /** The flaw, as the end of a sentence that names the text or the option itself. */
  readonly reason: string;

  constructor(code: OperatorErrorCode, subject: string, reason: string) {
    super(`${subject} ${reason}.`);
    this.code = code;
    this.reason = reason;
  }
}

/** `option`: such as `size`. `operator`: whose option it is, such as `batch`. `reason`: what it must be, and what it was. */
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

/** The text may be anything, so the message shows only a short line of it. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
