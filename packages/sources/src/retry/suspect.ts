/** Faults while others are answered that show one to be at fault itself: an outage that comes and goes looks the same for a while. */
const STRIKES = 3;

/** A request or a credential: at fault itself once it has met three faults while others were answered, until it is answered. */
export class Suspect {
  #strikes = 0;
  /** How many responses the source had had at its last response, and at its last fault since then. */
  #answeredAt = 0;
  #failedAt = Infinity;

  get isAtFault(): boolean {
    return this.#strikes >= STRIKES;
  }

  /** `startedAt` and `answers`: how many responses the source had had when the attempt began, and has had now. */
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
