import { Backoff } from '../../backoff.ts';
import type { Cluster } from './cluster.ts';
import { driverError } from './driver-errors.ts';
import type { Patience } from './patience.ts';
import { abortable } from './time-limit.ts';

const PAUSES = { firstMs: 50, mostMs: 1_000 };

export interface RetryOptions {
  readonly patience: Patience;
  readonly signal: AbortSignal;
}

/**
 * Repeats `work` until it succeeds, fails for good, or `signal` aborts, and reports outages to `patience` meanwhile. On abort, it rejects with
 * the signal's reason at once, even if `work` still waits for a response.
 */
export async function retry<T>(work: () => Promise<T>, { patience, signal }: RetryOptions): Promise<T> {
  try {
    for (const backoff = new Backoff(PAUSES); ; await backoff.pause(signal)) {
      signal.throwIfAborted();
      const requestedMs = Date.now();
      try {
        return await abortable(work(), signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!patience.waitsOut(error)) throw driverError(error);
        patience.unavailable(error, requestedMs);
      }
    }
  } finally {
    if (signal.aborted) patience.abandoned();
    else patience.available();
  }
}

/** A cluster whose calls wait out what passes. */
export class Client {
  readonly cluster: Cluster;
  readonly #patience: () => Patience;

  constructor(cluster: Cluster, patience: () => Patience) {
    this.cluster = cluster;
    this.#patience = patience;
  }

  /** Repeats `work` until it succeeds, fails for good, or `signal` aborts or the log is closed. */
  async run<T>(work: (cluster: Cluster) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const closed = this.cluster.config.signal;
    const either = signal === undefined ? closed : AbortSignal.any([signal, closed]);
    return await retry(() => work(this.cluster), { patience: this.#patience(), signal: either });
  }
}
