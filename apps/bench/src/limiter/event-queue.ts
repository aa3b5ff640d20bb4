export interface QueuedEvent {
  readonly atMs: number;
  /** Undefined after a cancellation. */
  callback: (() => void) | undefined;
  /** Whether the event belongs to the client's process: it can settle promises, and is dropped when that process is killed. */
  readonly ofProcess: boolean;
}

/** Events in the order of their times, and events of the same time in the order of insertion. */
export class EventQueue {
  /** The earliest event is the last one. */
  readonly #events: QueuedEvent[] = [];

  push(event: QueuedEvent): void {
    let [from, to] = [0, this.#events.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#events[middle]?.atMs ?? 0) > event.atMs) from = middle + 1;
      else to = middle;
    }
    this.#events.splice(from, 0, event);
  }

  /** Takes the earliest event at or before `untilMs`. */
  pop(untilMs: number): QueuedEvent | undefined {
    const next = this.#events.at(-1);
    return next === undefined || next.atMs > untilMs ? undefined : this.#events.pop();
  }

  all(): readonly QueuedEvent[] {
    return this.#events;
  }
}
