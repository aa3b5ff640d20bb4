import { setTimeout as sleep } from 'node:timers/promises';

export interface BackoffOptions {
  /** Maximum first pause, ms. */
  readonly firstMs: number;
  /** Maximum pause, ms. */
  readonly mostMs: number;
  /** Minimum pause, ms. Default 0. */
  readonly leastMs?: number;
  /** Returns a number from 0 to below 1. Default `Math.random`. */
  readonly random?: () => number;
}

/**
 * Exponential backoff with jitter, so that processes that failed together don't retry in step. Each pause has a random length up to a limit, which
 * doubles up to `mostMs`.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  #limitMs: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#limitMs = options.firstMs;
  }

  nextMs(): number {
    const { mostMs, leastMs = 0, random = Math.random } = this.#options;
    const limitMs = this.#limitMs;
    this.#limitMs = Math.min(2 * limitMs, mostMs);
    return leastMs + (limitMs - leastMs) * random();
  }

  /** Pauses before the next attempt. Rejects with the signal's reason as soon as the signal aborts. */
  async pause(signal?: AbortSignal): Promise<void> {
    const pauseMs = this.nextMs();
    await sleep(pauseMs, undefined, signal && { signal }).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
  }

  /** Resets the limit to `firstMs`. Call after a success. */
  reset(): void {
    this.#limitMs = this.#options.firstMs;
  }
}
