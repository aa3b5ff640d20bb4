export interface QueuedEvent {
  readonly atMs: number;
  readonly order: number;
  /** Undefined after a cancellation. */
  callback: (() => void) | undefined;
  /** Whether the event belongs to the client's process, and is dropped when that process is killed. */
  readonly ofProcess: boolean;
  /** Whether the event can settle promises. */
  readonly wakes: boolean;
}

/** Events in the order of their times, and events of the same time in the order of insertion. A binary heap. */
export interface EventQueue {
  push(event: QueuedEvent): void;
  /** Takes the earliest event at or before `untilMs`. */
  pop(untilMs: number): QueuedEvent | undefined;
  all(): readonly QueuedEvent[];
}

export function eventQueue(): EventQueue {
  const heap: QueuedEvent[] = [];
  const before = (a: QueuedEvent, b: QueuedEvent): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

  const sink = (event: QueuedEvent): void => {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      let lesser = heap[child];
      if (lesser === undefined) break;
      const right = heap[child + 1];
      if (right !== undefined && before(right, lesser)) {
        lesser = right;
        child += 1;
      }
      if (!before(lesser, event)) break;
      heap[at] = lesser;
      at = child;
    }
    heap[at] = event;
  };

  return {
    push(event) {
      let at = heap.length;
      heap.push(event);
      while (at > 0) {
        const up = (at - 1) >> 1;
        const parent = heap[up];
        if (parent === undefined || !before(event, parent)) break;
        heap[at] = parent;
        at = up;
      }
      heap[at] = event;
    },
    pop(untilMs) {
      const [first] = heap;
      if (first === undefined || first.atMs > untilMs) return undefined;
      const last = heap.pop();
      if (last !== undefined && last !== first) sink(last);
      return first;
    },
    all: () => heap,
  };
}
