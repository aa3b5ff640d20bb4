/**
 * After this many errors while others get responses, the request or credential itself is at fault. An intermittent outage looks the same
 * for a while.
 */
const STRIKES = 3;

/** A request or credential that may be at fault: it is, from the third error while others get responses until its own next response. */
export class Suspect {
  #strikes = 0;
  /** The number of the source's responses at its last response, and at its last error since then. */
  #answeredAt = 0;
  #failedAt = Infinity;

  get isAtFault(): boolean {
    return this.#strikes >= STRIKES;
  }

  /** `startedAt` and `answers`: the number of the source's responses when the attempt began, and now. */
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
