/** With less a transaction of some pages may not be done in time. */
const SHORTEST_MS = 1_000;

/** How long brokers keep the transaction of a producer that is silent: as long as is wanted, or as they allow (`transaction.max.timeout.ms`). */
export class TransactionTimeout {
  #ms: number;

  constructor(wantedMs: number) {
    this.#ms = wantedMs;
  }

  get ms(): number {
    return this.#ms;
  }

  /** The brokers refuse `refusedMs`: half of it is to be tried, unless another producer has found less already. Answers whether there is one to try. */
  shorten(refusedMs: number): boolean {
    if (this.#ms >= refusedMs) this.#ms = Math.floor(refusedMs / 2);
    return this.#ms >= SHORTEST_MS;
  }
}
