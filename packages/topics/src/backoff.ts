export interface BackoffOptions {
  /** The first pause at most, ms. */
  readonly firstMs: number;
  /** Every pause at most, ms. */
  readonly mostMs: number;
  /** From 0 to below 1. Default `Math.random`. */
  readonly random?: () => number;
}

/** Pauses between attempts: each may be twice the one before, and is half of that at least. By chance, so that processes don't come back in step. */
export class Backoff {
  readonly #options: BackoffOptions;
  #limitMs: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#limitMs = options.firstMs;
  }

  /** How long to wait now, ms. */
  nextMs(): number {
    const { mostMs, random = Math.random } = this.#options;
    const limitMs = this.#limitMs;
    this.#limitMs = Math.min(2 * limitMs, mostMs);
    return (limitMs / 2) * (1 + random());
  }

  /** It went well: the next pause is a first one. */
  reset(): void {
    this.#limitMs = this.#options.firstMs;
  }
}
