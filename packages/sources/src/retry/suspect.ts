/**
 * With this many strikes, the request or credential is at fault. Fewer errors could also come from an intermittent outage.
 */
export const STRIKES = 3;

/**
 * Tracks the errors of one request or credential. An error while others get responses is a strike. With the third one, the request or
 * credential is at fault, until its own next response.
 */
export class Suspect {
  #strikes = 0;
  /** The strikes of the last error, which count once another request gets a response. */
  #pending = 0;
  /** The number of the source's responses at the last error. */
  #failedAt = 0;
  /** The number of the source's responses when the suspect got its last response. */
  #answeredAt = 0;

  /** `answers`: the number of the source's responses now. */
  isAtFault(answers: number): boolean {
    return this.#counted(answers) >= STRIKES;
  }

  /**
   * Records an error. `startedAt` and `answers`: the number of the source's responses when the attempt began, and now. `strikes`: how much
   * the error counts if others get responses.
   */
  failed(startedAt: number, answers: number, strikes: number): void {
    const isContradicted = answers > Math.max(startedAt, this.#answeredAt);
    // A response during the attempt may have come before an outage began.
    const now = isContradicted ? 1 : 0;
    this.#strikes = this.#counted(answers) + now;
    this.#pending = strikes - now;
    this.#failedAt = answers;
  }

  answered(answers: number): void {
    this.#strikes = 0;
    this.#pending = 0;
    this.#answeredAt = answers;
  }

  #counted(answers: number): number {
    return this.#strikes + (answers > this.#failedAt ? this.#pending : 0);
  }
}
