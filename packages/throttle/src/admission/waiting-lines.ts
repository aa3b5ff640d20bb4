import type { CreditPool } from './credit-pool.ts';
import { byTurn, type Queued } from './fair-queue.ts';
import { IndexedHeap, type Placed } from './indexed-heap.ts';
import { OrderedList } from './ordered-list.ts';

/** A request in the queue, and the capacity it waits for. */
export interface Lined extends Queued {
  readonly weights: readonly number[];
  readonly among?: readonly string[] | undefined;
  readonly credits: CreditPool;
  readonly items: number;
}

/** Requests that differ only in their turns: if one can't start, no later one can. */
interface Line<Request extends Lined> extends Placed {
  readonly requests: OrderedList<Request>;
  readonly items: number;
  readonly key: string;
  readonly downstream: Downstream<Request>;
}

interface Downstream<Request extends Lined> {
  readonly credits: CreditPool;
  readonly unwatch: () => void;
  readonly lines: Map<string, Line<Request>>;
  /** The first of all its requests has no capacity, so none of them can start before the downstream or its requests change. */
  isParked: boolean;
}

/** A downstream, as a scan has found it. */
interface Seen<Request> {
  /** The last granted request; those before it have capacity. */
  granted: Request | undefined;
  isFull: boolean;
}

/**
 * The requests of one queue, in one line for each downstream, cost, size and set of credentials. The first request of each line is enough to find the
 * next one to start, however many wait.
 */
export class WaitingLines<Request extends Lined> {
  /** By the turns of their first requests; without the lines of a parked downstream, and those that the current scan has passed over. */
  readonly #heap = new IndexedHeap<Line<Request>>(byHead);
  readonly #downstreams = new Map<CreditPool, Downstream<Request>>();
  readonly #lineOf = new WeakMap<Request, Line<Request>>();
  readonly #onRoom: () => void;
  /** The number of lines that cost nothing in some budget. */
  #partial = 0;

  /** `onRoom` is called whenever credit comes back in a downstream that a request waits for. */
  constructor({ onRoom }: { readonly onRoom: () => void }) {
    this.#onRoom = onRoom;
  }

  add(request: Request): void {
    const downstream = this.#downstreamOf(request.credits);
    this.#unpark(downstream);
    const { items, weights, among } = request;
    const key = `${items} ${weights.join(' ')}${among === undefined ? '' : ` ${JSON.stringify(among)}`}`;
    const found = downstream.lines.get(key);
    const line = found ?? { requests: new OrderedList<Request>(byTurn), items, key, downstream, place: -1 };
    line.requests.add(request);
    this.#lineOf.set(request, line);
    if (found === undefined) {
      downstream.lines.set(key, line);
      if (request.weights.includes(0)) this.#partial += 1;
      this.#heap.push(line);
    } else this.#heap.moved(line);
  }

  /** Removes a request, if it is in the queue. */
  delete(request: Request): void {
    const line = this.#lineOf.get(request);
    if (line === undefined || !line.requests.delete(request)) return;
    const { downstream } = line;
    if (line.requests.first === undefined) {
      this.#heap.remove(line);
      if (request.weights.includes(0)) this.#partial -= 1;
      downstream.lines.delete(line.key);
      if (downstream.lines.size === 0) {
        downstream.unwatch();
        this.#downstreams.delete(downstream.credits);
      }
    } else if (line.place !== -1) this.#heap.moved(line);
    this.#unpark(downstream);
  }

  /** Requests with the same line differ only in their turns. */
  lineOf(request: Request): object | undefined {
    return this.#lineOf.get(request);
  }

  /** Requests that no remaining credential could ever serve, by their turns. */
  unservable(bears: (request: Request) => boolean): readonly Request[] {
    const found: Request[] = [];
    for (const { lines } of this.#downstreams.values()) {
      for (const { requests } of lines.values()) {
        if (requests.first === undefined || bears(requests.first)) continue;
        for (const request of requests) found.push(request);
      }
    }
    return found.sort(byTurn);
  }

  scan(): Scan<Request> {
    return new Scan({ lines: this, heap: this.#heap, lineOf: this.#lineOf, hasPartial: () => this.#partial > 0 });
  }

  #downstreamOf(credits: CreditPool): Downstream<Request> {
    const found = this.#downstreams.get(credits);
    if (found !== undefined) return found;
    const downstream: Downstream<Request> = {
      credits,
      lines: new Map(),
      isParked: false,
      unwatch: credits.onRelease(() => {
        this.#unpark(downstream);
        this.#onRoom();
      }),
    };
    this.#downstreams.set(credits, downstream);
    return downstream;
  }

  #unpark(downstream: Downstream<Request>): void {
    if (!downstream.isParked) return;
    downstream.isParked = false;
    for (const line of downstream.lines.values()) this.#heap.push(line);
  }
}

interface ScanOptions<Request extends Lined> {
  readonly lines: WaitingLines<Request>;
  readonly heap: IndexedHeap<Line<Request>>;
  readonly lineOf: WeakMap<Request, Line<Request>>;
  /** True while a line waits that costs nothing in some budget. */
  readonly hasPartial: () => boolean;
}

/** One scan of the waiting requests, by their turns, without those that an earlier one blocks. */
class Scan<Request extends Lined> {
  readonly #options: ScanOptions<Request>;
  readonly #passed: Line<Request>[] = [];
  readonly #seen = new Map<Downstream<Request>, Seen<Request>>();
  /** No other request can start. */
  #isClosed = false;

  constructor(options: ScanOptions<Request>) {
    this.#options = options;
  }

  /** The walk whose turn it is. */
  first(): Request | undefined {
    return this.#isClosed ? undefined : this.#options.heap.peek()?.requests.first;
  }

  /**
   * True if `first` must wait for its downstream, which has no capacity for it or for an earlier request of the same downstream: small
   * pages would starve a big one. It and later requests of its line are then skipped.
   */
  isFull(first: Request): boolean {
    const line = this.#options.lineOf.get(first);
    if (line === undefined) return false;
    const { downstream } = line;
    const { credits } = downstream;
    let seen = this.#seen.get(downstream);
    if (seen === undefined) {
      seen = { granted: undefined, isFull: this.#parks(downstream) };
      this.#seen.set(downstream, seen);
    }
    if (downstream.isParked) return true;
    const { granted } = seen;
    seen.isFull ||= [...downstream.lines.values()].some(({ items, requests }) => {
      if (credits.hasRoom(items)) return false;
      // Waiters up to the last granted one had capacity at their turn.
      const next = granted === undefined ? requests.first : requests.after(granted);
      return next !== undefined && byTurn(next, first) <= 0;
    });
    if (seen.isFull) this.pass(first);
    return seen.isFull;
  }

  /** No request of this one's line can start in this scan. */
  pass(first: Request): void {
    const line = this.#options.lineOf.get(first);
    if (line === undefined) return;
    this.#options.heap.remove(line);
    this.#passed.push(line);
  }

  /** No request can start in this scan, except those that cost nothing in some budget. */
  close(first: Request): void {
    if (this.#options.hasPartial()) this.pass(first);
    else this.#isClosed = true;
  }

  /** Removes the first one: no remaining credential could ever serve it. */
  refused(first: Request): void {
    this.#options.lines.delete(first);
  }

  /** Removes the first one: it starts, and has taken its capacity. */
  granted(first: Request): void {
    this.refused(first);
    const line = this.#options.lineOf.get(first);
    const seen = line === undefined ? undefined : this.#seen.get(line.downstream);
    if (seen !== undefined) seen.granted = first;
  }

  end(): void {
    for (const line of this.#passed) {
      if (line.requests.first !== undefined && line.place === -1 && !line.downstream.isParked) this.#options.heap.push(line);
    }
  }

  /** Removes all lines of a downstream whose first request has no capacity. */
  #parks(downstream: Downstream<Request>): boolean {
    let first: Line<Request> | undefined;
    for (const line of downstream.lines.values()) if (byHead(line, first) < 0) first = line;
    if (first === undefined || downstream.credits.hasRoom(first.items)) return false;
    downstream.isParked = true;
    for (const line of downstream.lines.values()) this.#options.heap.remove(line);
    return true;
  }
}

/** By the turns of their first ones; an empty line comes last. */
function byHead<Request extends Lined>(one: Line<Request> | undefined, other: Line<Request> | undefined): number {
  const [a, b] = [one?.requests.first, other?.requests.first];
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return byTurn(a, b);
}
