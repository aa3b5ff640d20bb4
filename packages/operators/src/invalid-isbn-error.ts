/** A text isn't an ISBN. The message quotes its beginning and says why. */
export class InvalidIsbnError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'InvalidIsbnError';
  /** Identifies the error where `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_INVALID_ISBN';
  /** False: the text stays no ISBN. */
  readonly retryable = false;
  /** The original text. */
  readonly isbn: string;
  /** Its flaw, as the end of a sentence that names the ISBN itself. */
  readonly reason: string;

  /**
   * @param isbn the original text
   * @param reason what is wrong with it
   */
  constructor(isbn: string, reason: string) {
    super(`${quoted(isbn)} is not an ISBN: ${reason}.`);
    this.isbn = isbn;
    this.reason = reason;
  }
}

/** The text may be anything, so the message shows only a short line of it. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
