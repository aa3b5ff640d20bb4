import { setTimeout as sleep } from 'node:timers/promises';

export interface BackoffOptions {
  /** Maximum first pause, ms. */
  readonly firstMs: number;
  /** Maximum pause, ms. */
  readonly mostMs: number;
  /** Minimum pause, ms. Default 0. */
  readonly leastMs?: number;
  /** From 0 to below 1. Default `Math.random`. */
  readonly random?: () => number;
}

/**
 * Pauses between attempts, exponential with full jitter: each lasts any time up to a limit, which doubles from pause to pause. Processes that
 * failed together don't come back in step.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  #limitMs: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#limitMs = options.firstMs;
  }

  /** How long to wait now, ms. */
  nextMs(): number {
    const { mostMs, leastMs = 0, random = Math.random } = this.#options;
    const limitMs = this.#limitMs;
    this.#limitMs = Math.min(2 * limitMs, mostMs);
    return leastMs + (limitMs - leastMs) * random();
  }

  /** Waits for as long. Rejects with the signal's reason as soon as that aborts. */
  async pause(signal?: AbortSignal): Promise<void> {
    const pauseMs = this.nextMs();
    await sleep(pauseMs, undefined, signal && { signal }).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
  }

  /** It went well: the next pause is a first one. */
  reset(): void {
    this.#limitMs = this.#options.firstMs;
  }
}
