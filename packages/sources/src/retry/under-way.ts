/** Counts each credential's requests in flight, and knows which credentials are at their maximum. */
export class UnderWay {
  readonly #maxOf: (credential: string) => number;
  readonly #onRoom: () => void;
  readonly #counts = new Map<string, number>();
  /** The credentials that were at their maximum when a request asked for them. */
  readonly #awaited = new Set<string>();

  /**
   * `maxOf`: returns the credential's maximum of requests in flight, which can change from request to request. `onRoom`: called when a
   * credential that was at its maximum has capacity again.
   */
  constructor(maxOf: (credential: string) => number, onRoom: () => void) {
    this.#maxOf = maxOf;
    this.#onRoom = onRoom;
  }

  isFull(credential: string): boolean {
    const isFull = this.#count(credential) >= this.#maxOf(credential);
    if (isFull) this.#awaited.add(credential);
    return isFull;
  }

  begin(credential: string): void {
    this.#counts.set(credential, this.#count(credential) + 1);
  }

  end(credential: string): void {
    this.#counts.set(credential, this.#count(credential) - 1);
    if (this.#awaited.delete(credential)) this.#onRoom();
  }

  #count(credential: string): number {
    return this.#counts.get(credential) ?? 0;
  }
}
