export interface UnderWayOptions {
  /** Returns the credential's maximum of requests in flight, which can change from request to request. */
  readonly maxOf: (credential: string) => number;
  /** Called when a credential that was at its maximum has capacity again. */
  readonly onRoom: () => void;
}

/** Counts each credential's requests in flight, and knows which credentials are at their maximum. */
export class UnderWay {
  readonly #options: UnderWayOptions;
  readonly #counts = new Map<string, number>();
  /** The credentials that were at their maximum when a request asked for them. */
  readonly #awaited = new Set<string>();

  constructor(options: UnderWayOptions) {
    this.#options = options;
  }

  isFull(credential: string): boolean {
    const isFull = this.#count(credential) >= this.#options.maxOf(credential);
    if (isFull) this.#awaited.add(credential);
    return isFull;
  }

  begin(credential: string): void {
    this.#counts.set(credential, this.#count(credential) + 1);
  }

  end(credential: string): void {
    this.#counts.set(credential, this.#count(credential) - 1);
    if (this.#awaited.delete(credential)) this.#options.onRoom();
  }

  #count(credential: string): number {
    return this.#counts.get(credential) ?? 0;
  }
}
