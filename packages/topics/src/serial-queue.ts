/** Runs work one after the other, in the order it was asked for. A failure is its caller's, and stops nothing behind it. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  /** Resolves when all work asked for before has ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
