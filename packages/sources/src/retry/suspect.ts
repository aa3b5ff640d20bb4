/**
 * After this many errors while others get responses, the request or credential is at fault. Fewer could also come from an intermittent
 * outage.
 */
const STRIKES = 3;

/**
 * Tracks the errors of one request or credential. It is at fault from its third error while others get responses, until its own next
 * response.
 */
export class Suspect {
  #strikes = 0;
  /** The number of the source's responses when the suspect got its last response. */
  #answeredAt = 0;
  /** The number of the source's responses at the last error since then; `Infinity` if there was none. */
  #failedAt = Infinity;

  get isAtFault(): boolean {
    return this.#strikes >= STRIKES;
  }

  /** Records an error. `startedAt` and `answers`: the number of the source's responses when the attempt began, and now. */
  failed(startedAt: number, answers: number): void {
    if (answers > Math.max(startedAt, this.#answeredAt) || answers > this.#failedAt) this.#strikes += 1;
    this.#failedAt = answers;
  }

  answered(answers: number): void {
    this.#strikes = 0;
    this.#answeredAt = answers;
    this.#failedAt = Infinity;
  }
}
