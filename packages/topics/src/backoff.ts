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
 * Pauses between attempts, exponential with full jitter: each lasts a random time up to a limit, which doubles from pause to pause. So processes
 * that failed together don't retry in step.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  #limitMs: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#limitMs = options.firstMs;
  }

  /** Returns the length of the next pause, ms. */
  nextMs(): number {
    const { mostMs, leastMs = 0, random = Math.random } = this.#options;
    const limitMs = this.#limitMs;
    this.#limitMs = Math.min(2 * limitMs, mostMs);
    return leastMs + (limitMs - leastMs) * random();
  }

  /** Waits for the next pause. Rejects with the signal's reason as soon as the signal aborts. */
  async pause(signal?: AbortSignal): Promise<void> {
    const pauseMs = this.nextMs();
    await sleep(pauseMs, undefined, signal && { signal }).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
  }

  /** Call after a success: the limit of the next pause is the first one again. */
  reset(): void {
    this.#limitMs = this.#options.firstMs;
  }
}
