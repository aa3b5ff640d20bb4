import type { CredentialPool } from './credential-pool.ts';
import type { CreditPool } from './credit-pool.ts';
import { byTurn, type Queued } from './fair-queue.ts';
import { IndexedHeap, type Placed } from './indexed-heap.ts';
import { OrderedList } from './ordered-list.ts';

/** A request waits for one of these. */
export interface Lined extends Queued {
  readonly pool: CredentialPool;
  readonly weights: readonly number[];
  readonly credits: CreditPool;
  readonly items: number;
}

/** Requests that differ only in their turns: if one can't start, no later one can. */
interface Line<Request extends Lined> extends Placed {
  readonly requests: OrderedList<Request>;
  readonly items: number;
  readonly key: string;
  readonly pool: PoolLines<Request>;
  readonly downstream: Downstream<Request>;
}

interface PoolLines<Request extends Lined> extends Placed {
  readonly pool: CredentialPool;
  /** Distinguishes pools in a line's key. */
  readonly number: number;
  /** By the turns of their first requests; without the lines of a parked downstream, and those that the current look has passed over. */
  readonly heap: IndexedHeap<Line<Request>>;
  lines: number;
  /** The number of its lines that cost nothing in some budget. */
  partial: number;
}

interface Downstream<Request extends Lined> {
  readonly credits: CreditPool;
  readonly unwatch: () => void;
  readonly lines: Map<string, Line<Request>>;
  /** The first of all its requests has no capacity, so none of them can start before the downstream or its requests change. */
  isParked: boolean;
}

/** A downstream as a look has found it. */
interface Seen<Request> {
  /** The last granted request; those before it have capacity. */
  granted: Request | undefined;
  isFull: boolean;
}

/**
 * The requests of one queue, in one line for each pool, downstream, cost and size. The first request of each line is enough to find the
 * next one to start, however many wait.
 */
export class WaitingLines<Request extends Lined> {
  readonly #pools = new Map<CredentialPool, PoolLines<Request>>();
  readonly #downstreams = new Map<CreditPool, Downstream<Request>>();
  readonly #lineOf = new WeakMap<Request, Line<Request>>();
  readonly #onRoom: () => void;
  #numbers = 0;

  /** `onRoom` is called whenever credit comes back in a downstream that a request waits for. */
  constructor({ onRoom }: { readonly onRoom: () => void }) {
    this.#onRoom = onRoom;
  }

  add(request: Request): void {
    const pool = this.#poolOf(request.pool);
    const downstream = this.#downstreamOf(request.credits);
    unpark(downstream);
    const key = `${pool.number} ${request.items} ${request.weights.join(' ')}`;
    const found = downstream.lines.get(key);
    const line = found ?? { requests: new OrderedList<Request>(byTurn), items: request.items, key, pool, downstream, place: -1 };
    line.requests.add(request);
    this.#lineOf.set(request, line);
    if (found === undefined) {
      downstream.lines.set(key, line);
      pool.lines += 1;
      if (request.weights.includes(0)) pool.partial += 1;
      pool.heap.push(line);
    } else pool.heap.moved(line);
  }

  /** Takes a request out, if it is in. */
  delete(request: Request): void {
    const line = this.#lineOf.get(request);
    if (line === undefined || !line.requests.delete(request)) return;
    const { pool, downstream } = line;
    if (line.requests.first === undefined) {
      pool.heap.remove(line);
      pool.lines -= 1;
      if (request.weights.includes(0)) pool.partial -= 1;
      if (pool.lines === 0) this.#pools.delete(pool.pool);
      downstream.lines.delete(line.key);
      if (downstream.lines.size === 0) {
        downstream.unwatch();
        this.#downstreams.delete(downstream.credits);
      }
    } else if (line.place !== -1) pool.heap.moved(line);
    unpark(downstream);
  }

  /** Requests with the same line differ only in their turns. */
  lineOf(request: Request): object | undefined {
    return this.#lineOf.get(request);
  }

  /** True when a request waits for a pool whose last credential has left. */
  get isAnyExhausted(): boolean {
    for (const { pool } of this.#pools.values()) if (pool.exhausted !== undefined) return true;
    return false;
  }

  /** Requests that no remaining credential could ever serve, by their turns. */
  unservable(): readonly Request[] {
    const found: Request[] = [];
    for (const { lines } of this.#downstreams.values()) {
      for (const { pool, requests } of lines.values()) {
        if (requests.first === undefined || pool.pool.bears(requests.first.weights)) continue;
        for (const request of requests) found.push(request);
      }
    }
    return found.sort(byTurn);
  }

  look(): Look<Request> {
    return new Look(this, this.#pools.values(), this.#lineOf);
  }

  #poolOf(pool: CredentialPool): PoolLines<Request> {
    const found = this.#pools.get(pool);
    if (found !== undefined) return found;
    this.#numbers += 1;
    const lines: PoolLines<Request> = { pool, number: this.#numbers, heap: new IndexedHeap(byFirst), lines: 0, partial: 0, place: -1 };
    this.#pools.set(pool, lines);
    return lines;
  }

  #downstreamOf(credits: CreditPool): Downstream<Request> {
    const found = this.#downstreams.get(credits);
    if (found !== undefined) return found;
    const downstream: Downstream<Request> = {
      credits,
      lines: new Map(),
      isParked: false,
      unwatch: credits.onRelease(() => {
        unpark(downstream);
        this.#onRoom();
      }),
    };
    this.#downstreams.set(credits, downstream);
    return downstream;
  }
}

/** One look at those who wait, by their turns, without those whom an earlier one keeps from going. */
class Look<Request extends Lined> {
  readonly #lines: WaitingLines<Request>;
  readonly #lineOf: WeakMap<Request, Line<Request>>;
  /** The pools that may still serve a request. */
  readonly #open = new IndexedHeap<PoolLines<Request>>((a, b) => byHead(a.heap.peek(), b.heap.peek()));
  readonly #passed: Line<Request>[] = [];
  readonly #seen = new Map<Downstream<Request>, Seen<Request>>();

  constructor(lines: WaitingLines<Request>, pools: Iterable<PoolLines<Request>>, lineOf: WeakMap<Request, Line<Request>>) {
    this.#lines = lines;
    this.#lineOf = lineOf;
    for (const pool of pools) this.#open.push(pool);
  }

  /** Whose turn it is. */
  first(): Request | undefined {
    return this.#open.peek()?.heap.peek()?.requests.first;
  }

  /**
   * True if `first` must wait for its downstream, which has no capacity for it or for an earlier request of the same downstream: small
   * pages would starve a big one. It and later requests of its line are then skipped.
   */
  isFull(first: Request): boolean {
    const line = this.#lineOf.get(first);
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

  /** No request of this one's line can go in this look. */
  pass(first: Request): void {
    const line = this.#lineOf.get(first);
    if (line === undefined) return;
    line.pool.heap.remove(line);
    this.#passed.push(line);
    this.#reorder(line.pool);
  }

  /** No request can go with this one's pool in this look, except those that cost nothing in some budget. */
  close(first: Request): void {
    const line = this.#lineOf.get(first);
    if (line === undefined) return;
    if (line.pool.partial > 0) this.pass(first);
    else this.#open.remove(line.pool);
  }

  /** Takes the first out: no credential that is left could ever serve it. */
  refused(first: Request): void {
    const line = this.#lineOf.get(first);
    this.#lines.delete(first);
    if (line !== undefined) this.#reorder(line.pool);
  }

  /** Removes the first one: it starts, and has taken its capacity. */
  granted(first: Request): void {
    this.refused(first);
    const line = this.#lineOf.get(first);
    const seen = line === undefined ? undefined : this.#seen.get(line.downstream);
    if (seen !== undefined) seen.granted = first;
  }

  end(): void {
    for (const line of this.#passed) {
      if (line.requests.first !== undefined && line.place === -1 && !line.downstream.isParked) line.pool.heap.push(line);
    }
  }

  /** Removes all lines of a downstream whose first request has no capacity. */
  #parks(downstream: Downstream<Request>): boolean {
    let first: Line<Request> | undefined;
    for (const line of downstream.lines.values()) if (byHead(line, first) < 0) first = line;
    if (first === undefined || downstream.credits.hasRoom(first.items)) return false;
    downstream.isParked = true;
    for (const line of downstream.lines.values()) {
      line.pool.heap.remove(line);
      this.#reorder(line.pool);
    }
    return true;
  }

  #reorder(pool: PoolLines<Request>): void {
    if (pool.place === -1) return;
    if (pool.heap.peek() === undefined) this.#open.remove(pool);
    else this.#open.moved(pool);
  }
}

function unpark<Request extends Lined>(downstream: Downstream<Request>): void {
  if (!downstream.isParked) return;
  downstream.isParked = false;
  for (const line of downstream.lines.values()) line.pool.heap.push(line);
}

function byFirst<Request extends Lined>(one: Line<Request>, other: Line<Request>): number {
  return byHead(one, other);
}

/** By the turns of their first ones; an empty line comes last. */
function byHead<Request extends Lined>(one: Line<Request> | undefined, other: Line<Request> | undefined): number {
  const [a, b] = [one?.requests.first, other?.requests.first];
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return byTurn(a, b);
}
