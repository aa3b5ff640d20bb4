/** Factor by which the pause between polls grows while nothing is committed. */
const GROWTH = 1.1;
/** Maximum pause between polls, in multiples of `pollMs`. */
const MOST = 5;

/** Wakes the readers that wait for further records, after commits of this log and, by polling, of other processes. */
export class CommitWatch {
  readonly #dataVersion: () => Promise<unknown>;
  readonly #pollMs: number;
  /** The topic that each waiting reader reads, by the function that wakes it. */
  readonly #waiting = new Map<() => void, string>();
  /** Number of commits seen so far that may concern every topic, and by topic. */
  #everywhere = 0;
  readonly #byTopic = new Map<string, number>();
  #seenVersion: unknown;
  #poll: NodeJS.Timeout | undefined;

  /** `dataVersion` resolves to a value that changes when another process has committed. */
  constructor(dataVersion: () => Promise<unknown>, pollMs: number) {
    this.#dataVersion = dataVersion;
    this.#pollMs = pollMs;
  }

  /** Number of commits seen so far that may have added records to `topic`. */
  count(topic: string): number {
    return this.#everywhere + (this.#byTopic.get(topic) ?? 0);
  }

  /** Call after each commit of this log. `topics`: the topics with new records; default: perhaps all. */
  committed(topics?: ReadonlySet<string>): void {
    if (topics === undefined) this.#everywhere++;
    else for (const topic of topics) this.#byTopic.set(topic, (this.#byTopic.get(topic) ?? 0) + 1);
    for (const [wake, topic] of this.#waiting) if (topics === undefined || topics.has(topic)) wake();
  }

  /** Resolves when there may be new records in `topic` since its `count` was `seen`, or when `signal` aborts. */
  async after(seen: number, topic: string, signal: AbortSignal): Promise<void> {
    if (this.count(topic) !== seen || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        this.#waiting.delete(wake);
        if (this.#waiting.size === 0) clearTimeout(this.#poll);
        resolve();
      };
      signal.addEventListener('abort', wake);
      this.#waiting.set(wake, topic);
      if (this.#waiting.size === 1) this.#pollIn(this.#pollMs);
    });
  }

  #pollIn(pauseMs: number): void {
    clearTimeout(this.#poll);
    this.#poll = setTimeout(() => void this.#look(pauseMs), pauseMs);
  }

  async #look(pauseMs: number): Promise<void> {
    const isNew = await this.#hasNews();
    if (isNew) this.committed();
    // Woken readers that have read all come back and poll again.
    else if (this.#waiting.size > 0) this.#pollIn(Math.min(GROWTH * pauseMs, MOST * this.#pollMs));
  }

  async #hasNews(): Promise<boolean> {
    try {
      const version = await this.#dataVersion();
      if (version === this.#seenVersion) return false;
      this.#seenVersion = version;
    } catch {
      // Wake the readers: their next read throws the error.
    }
    return true;
  }
}
