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

/** Requests with the same downstream, weights, items and credentials. If one of them can't start, no later one can. */
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
  /**
   * True if the downstream has no capacity for its first request. Then none of its requests can start before the capacity or the requests
   * change.
   */
  isParked: boolean;
}

interface Seen<Request> {
  /** The last granted request. All earlier ones had capacity. */
  granted: Request | undefined;
  isFull: boolean;
}

/**
 * The waiting requests of a queue, in one line for each combination of downstream, weights, items and credentials. Only the first request
 * of each line is needed to find the next one to start, however many wait.
 */
export class WaitingLines<Request extends Lined> {
  /** Lines in the order of their first requests, without the lines of a parked downstream and without those that the current scan skips. */
  readonly #heap = new IndexedHeap<Line<Request>>(byHead);
  readonly #downstreams = new Map<CreditPool, Downstream<Request>>();
  readonly #lineOf = new WeakMap<Request, Line<Request>>();
  readonly #onRoom: () => void;
  /** Number of lines whose requests cost nothing in some budget. */
  #partial = 0;

  /** `onRoom` is called whenever credit is returned in a downstream that a request waits for. */
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

  /** Returns an object that is the same for all requests of a line. */
  lineOf(request: Request): object | undefined {
    return this.#lineOf.get(request);
  }

  /** Returns the requests of lines whose first request `bears` rejects, in the order of their turns. */
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
  readonly hasPartial: () => boolean;
}

/** One scan of the waiting requests, in the order of their turns, without those that an earlier one blocks. */
class Scan<Request extends Lined> {
  readonly #options: ScanOptions<Request>;
  readonly #passed: Line<Request>[] = [];
  readonly #seen = new Map<Downstream<Request>, Seen<Request>>();
  /** True if no other request can start in this scan. */
  #isClosed = false;

  constructor(options: ScanOptions<Request>) {
    this.#options = options;
  }

  /** Returns the request whose turn it is; undefined at the end of the scan. */
  first(): Request | undefined {
    return this.#isClosed ? undefined : this.#options.heap.peek()?.requests.first;
  }

  /**
   * Returns true if `first` must wait for its downstream, which lacks capacity for it or for an earlier request. `first` and the later
   * requests of its line are then skipped. Without this rule, small pages would starve a large one.
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
      // Requests up to the last granted one had capacity at their turn.
      const next = granted === undefined ? requests.first : requests.after(granted);
      return next !== undefined && byTurn(next, first) <= 0;
    });
    if (seen.isFull) this.pass(first);
    return seen.isFull;
  }

  /** Skips the line of this request for the rest of the scan. */
  pass(first: Request): void {
    const line = this.#options.lineOf.get(first);
    if (line === undefined) return;
    this.#options.heap.remove(line);
    this.#passed.push(line);
  }

  /** Ends the scan, unless a waiting request costs nothing in some budget. Then skips only the line of this request. */
  close(first: Request): void {
    if (this.#options.hasPartial()) this.pass(first);
    else this.#isClosed = true;
  }

  refused(first: Request): void {
    this.#options.lines.delete(first);
  }

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

  /** Parks a downstream whose first request has no capacity: removes its lines from the heap. Returns true if it did. */
  #parks(downstream: Downstream<Request>): boolean {
    let first: Line<Request> | undefined;
    for (const line of downstream.lines.values()) if (byHead(line, first) < 0) first = line;
    if (first === undefined || downstream.credits.hasRoom(first.items)) return false;
    downstream.isParked = true;
    for (const line of downstream.lines.values()) this.#options.heap.remove(line);
    return true;
  }
}

/** Orders lines by the turns of their first requests; an empty line comes last. */
function byHead<Request extends Lined>(one: Line<Request> | undefined, other: Line<Request> | undefined): number {
  const [a, b] = [one?.requests.first, other?.requests.first];
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return byTurn(a, b);
}
