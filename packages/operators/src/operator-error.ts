import { type NumberChecks, numberChecks } from '@headgate/throttle/internal';

/** The codes of an {@link OperatorError}. */
export type OperatorErrorCode =
  /** A value isn't an ISBN, or isn't text. */
  | 'HEADGATE_INVALID_ISBN'
  /** An ID isn't text; or, for `crawlChanges`, isn't an unsigned whole number of at most 64 bits, in decimal digits without leading zeros. */
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

/** `operator`: the function that has the option, such as `crawlChanges`. `reason`: the rule that the value breaks, such as `must not be empty`. */
export function invalidOption(operator: string, option: string, reason: string): OperatorError {
  return new OperatorError('HEADGATE_INVALID_OPTION', `Option ${option} of ${operator}`, reason);
}

/** Checks of an operator's numbers. */
export function optionChecks(operator: string): NumberChecks {
  return numberChecks((option, must) => invalidOption(operator, option, `must be ${must}`));
}

export function invalidIsbn(text: string, flaw: string): OperatorError {
  if (typeof text !== 'string') {
    const reason = `must be text, such as "9780306406157", not ${described(text)}: numbers lose leading zeros`;
    return new OperatorError('HEADGATE_INVALID_ISBN', 'An ISBN', reason);
  }
  return new OperatorError('HEADGATE_INVALID_ISBN', quoted(text), `isn't an ISBN: ${flaw}`);
}

export function invalidId(text: string): OperatorError {
  if (typeof text !== 'string') {
    const reason = `must be text, such as "20", not ${described(text)}: numbers lose digits of long IDs`;
    return new OperatorError('HEADGATE_INVALID_ID', 'An ID', reason);
  }
  const reason = "isn't an ID. IDs are 0 to 18446744073709551615, in decimal digits without leading zeros";
  return new OperatorError('HEADGATE_INVALID_ID', quoted(text), reason);
}

/** Throws if an ID isn't text. A number that plain JavaScript passes may have lost digits. */
export function assertIds(ids: readonly string[]): void {
  for (const id of ids) if (typeof id !== 'string') throw invalidId(id);
}

/** Names a value of a wrong type for a message. */
function described(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return `the ${typeof value} ${value}`;
  return `a value of type ${value === null ? 'null' : typeof value}`;
}

/** Quotes a text for a message: its first 40 characters, as JSON, because the text can be long or have several lines. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
