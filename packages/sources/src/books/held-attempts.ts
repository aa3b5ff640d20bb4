import type { SourceError } from '../source-error.ts';
import type { AttemptEvent } from '../source-options.ts';

/** The meaning of a 404: the request limit, a book or author that the service doesn't know, or still either of them. */
export type Meaning = 'limit' | 'not found' | 'ambiguous';

/** Holds the report of each ambiguous attempt until its meaning is known, so that it is counted as what it was. */
export class HeldAttempts {
  readonly #report: (event: AttemptEvent) => void;
  readonly #held = new WeakMap<SourceError, AttemptEvent>();

  constructor(report: (event: AttemptEvent) => void) {
    this.#report = report;
  }

  /** Reports an attempt at once, unless it is ambiguous. */
  add({ error, ...event }: AttemptEvent): void {
    if (error === undefined) this.#report(event);
    else this.#held.set(error, event);
  }

  /** Reports the attempt that ended with `error`. */
  settle(error: SourceError, meaning: Meaning): void {
    const event = this.#held.get(error);
    this.#held.delete(error);
    if (event === undefined) return;
    if (meaning === 'limit')
      this.#report({ ...event, outcome: 'rate-limited', reason: 'the request limit is reached (404)', retryInMs: 0 });
    else if (meaning === 'not found') this.#report({ ...event, outcome: 'gone', reason: "the service doesn't know it (404)" });
    else this.#report(event);
  }
}
