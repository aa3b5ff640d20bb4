import type { Clock } from '@headgate/throttle';
import type { TopicLog, TopicPartition } from '@headgate/topics';

/** Interval of the checks for new jobs, in ms: `firstMs`, doubled up to `maxMs` each time that there are none. */
const CHECKS = { firstMs: 250, maxMs: 1_000 };

/** A lane's partition of its requests topic, as of the last check. */
export interface WatchedPartition extends Disposable {
  /** False if no transaction was open in the partition. */
  readonly mayBeOpen: boolean;
}

interface Watched {
  readonly place: TopicPartition;
  readonly wake: () => void;
  /** The offset at which readers end, and the offset after the last record; -1 before the first check. */
  end: number;
  written: number;
}

/** Wakes the lanes of a run when their requests topics change. One request covers all lanes, so the cost doesn't grow with idle lanes. */
export class JobNews {
  readonly #log: Pick<TopicLog, 'offsets'>;
  readonly #clock: Clock;
  readonly #watched = new Set<Watched>();
  #pauseMs = CHECKS.firstMs;
  #cancel: (() => void) | undefined;

  constructor(log: Pick<TopicLog, 'offsets'>, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Calls `wake` after each change of the partition, and when a check fails. */
  watch(place: TopicPartition, wake: () => void): WatchedPartition {
    const watched: Watched = { place, wake, end: -1, written: -1 };
    this.#watched.add(watched);
    this.#schedule();
    return {
      get mayBeOpen() {
        return watched.end < 0 || watched.end < watched.written;
      },
      [Symbol.dispose]: () => {
        this.#watched.delete(watched);
        if (this.#watched.size > 0) return;
        this.#cancel?.();
        this.#cancel = undefined;
      },
    };
  }

  #schedule(): void {
    if (this.#watched.size === 0) return;
    this.#cancel ??= this.#clock.schedule(this.#pauseMs, () => {
      this.#cancel = undefined;
      void this.#check();
    });
  }

  async #check(): Promise<void> {
    const all = [...this.#watched];
    let isChanged = false;
    try {
      const changed = await this.#changed(all);
      isChanged = changed.length > 0;
      for (const { wake } of changed) wake();
    } catch {
      // Each lane reads for itself, and reports the error if it persists.
      for (const { wake } of all) wake();
    }
    this.#pauseMs = isChanged ? CHECKS.firstMs : Math.min(2 * this.#pauseMs, CHECKS.maxMs);
    this.#schedule();
  }

  async #changed(all: readonly Watched[]): Promise<readonly Watched[]> {
    const written = await this.#offsets(all, 'written');
    // Readers can only read more after another record, such as an end marker, unless a transaction was open.
    const candidates = all.filter((one, i) => one.written !== written[i] || one.end < one.written);
    const ends = candidates.length === 0 ? [] : await this.#offsets(candidates, 'end');
    const found = new Map(candidates.map((one, i) => [one, ends[i] ?? 0]));
    return all.filter((one, i) => {
      const end = found.get(one) ?? one.end;
      const isChanged = one.written !== written[i] || one.end !== end;
      [one.written, one.end] = [written[i] ?? 0, end];
      return isChanged;
    });
  }

  async #offsets(watched: readonly Watched[], which: 'end' | 'written'): Promise<readonly number[]> {
    return await this.#log.offsets(
      watched.map(({ place }) => place),
      which,
    );
  }
}
