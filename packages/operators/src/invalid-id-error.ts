/** A text isn't an ID: an unsigned whole number of at most 64 bits, in decimal digits without leading zeros. */
export class InvalidIdError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'InvalidIdError';
  /** Identifies the error where `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_INVALID_ID';
  /** False: the text stays no ID. */
  readonly retryable = false;
  /** The original text. */
  readonly id: string;

  /** @param id the original text */
  constructor(id: string) {
    super(`${JSON.stringify(id.slice(0, 40))} isn't an ID. IDs are 0 to 18446744073709551615, in decimal digits without leading zeros.`);
    this.id = id;
  }
}
