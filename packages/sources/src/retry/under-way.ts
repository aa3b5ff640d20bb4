/** Counts each credential's requests in flight, and knows which credentials are at their maximum. */
export class UnderWay {
  readonly #max: number;
  readonly #onRoom: () => void;
  readonly #counts = new Map<string, number>();

  /** `max`: the maximum of each credential. `onRoom` is called when a credential at its maximum has capacity again. */
  constructor({ max, onRoom }: { readonly max: number; readonly onRoom: () => void }) {
    this.#max = max;
    this.#onRoom = onRoom;
  }

  isFull(credential: string): boolean {
    return this.#count(credential) >= this.#max;
  }

  begin(credential: string): void {
    this.#counts.set(credential, this.#count(credential) + 1);
  }

  end(credential: string): void {
    const wasFull = this.isFull(credential);
    this.#counts.set(credential, this.#count(credential) - 1);
    if (wasFull) this.#onRoom();
  }

  #count(credential: string): number {
    return this.#counts.get(credential) ?? 0;
  }
}
