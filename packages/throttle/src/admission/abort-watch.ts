/** Watches signals with one listener each: a signal looks through all its listeners for every one that is added or removed. */
export class AbortWatch {
  readonly #callbacks = new Map<AbortSignal, Set<() => void>>();

  /** Calls back when the signal is aborted. Returns what ends that. */
  on(signal: AbortSignal, callback: () => void): () => void {
    const callbacks = this.#callbacks.get(signal) ?? this.#watch(signal);
    callbacks.add(callback);
    return () => {
      if (!callbacks.delete(callback) || callbacks.size > 0) return;
      signal.removeEventListener('abort', this.#abort);
      this.#callbacks.delete(signal);
    };
  }

  #watch(signal: AbortSignal): Set<() => void> {
    const callbacks = new Set<() => void>();
    this.#callbacks.set(signal, callbacks);
    signal.addEventListener('abort', this.#abort);
    return callbacks;
  }

  readonly #abort = ({ target }: Event): void => {
    const callbacks = target instanceof AbortSignal ? this.#callbacks.get(target) : undefined;
    for (const callback of callbacks ?? []) callback();
  };
}
