import { Backoff } from '../../backoff.ts';
import type { Cluster } from './cluster.ts';
import { driverError, passes } from './driver-errors.ts';
import { isFenced } from './error-kinds.ts';
import { abortable } from './time-limit.ts';

const PAUSES = { firstMs: 50, mostMs: 1_000 };

/** A cluster whose calls wait out what passes, and report outages meanwhile. */
export class Client {
  readonly cluster: Cluster;
  readonly #explained: ((error: unknown) => Promise<unknown>) | undefined;

  /** `explained`: returns the error that `error` stands for, such as that of a missing topic. Default: `error` itself. */
  constructor(cluster: Cluster, explained?: (error: unknown) => Promise<unknown>) {
    this.cluster = cluster;
    this.#explained = explained;
  }

  /**
   * Repeats `work` until it succeeds, fails for good, or `signal` aborts or the log is closed. On abort, it rejects with the signal's reason at once,
   * even if `work` still waits for a response.
   */
  async run<T>(work: (cluster: Cluster) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { availability, addresses, signal: closed } = this.cluster.config;
    const either = signal === undefined ? closed : AbortSignal.any([signal, closed]);
    const watcher = availability.watcher();
    try {
      for (const backoff = new Backoff(PAUSES); ; await backoff.pause(either)) {
        either.throwIfAborted();
        const requestedMs = Date.now();
        try {
          return await abortable(work(this.cluster), either);
        } catch (thrown) {
          either.throwIfAborted();
          const error = this.#explained === undefined ? thrown : await abortable(this.#explained(thrown), either);
          if (!passes(error)) throw driverError(error);
          // Brokers that refuse an older producer respond, so they aren't unavailable.
          if (!isFenced(error)) watcher.unavailable(addresses.failureText(error), requestedMs);
        }
      }
    } finally {
      if (either.aborted) watcher.abandoned();
      else watcher.available();
    }
  }
}
