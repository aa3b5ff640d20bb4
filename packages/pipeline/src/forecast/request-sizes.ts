import type { OpenedPipeline, Pipeline, SizedRecord } from '../definition/define-pipeline.ts';
import type { Left, StateOfLane } from '../engine/worker.ts';

/** The work of a request, as far as it is known before it starts. */
export type RequestSize =
  | (Extract<Left, { kind: 'walk' }> & {
      readonly key: string;
      /** Pages it will have in all: by its definition's `expect`, or as many as the key's last whole walk had. */
      readonly pages?: number;
    })
  | Extract<Left, { kind: 'lookup' }>;

/** Reads how much work requests are. Undefined for a malformed one: it costs no HTTP request. */
export type RequestSizes = (record: SizedRecord) => RequestSize | undefined;

/** Estimates sizes from the started walks in a lane's state, and from the last walk of each key: by default those of that state. */
export function requestSizes(
  pipeline: Pick<Pipeline, 'requests' | 'expect'>,
  opened: Pick<OpenedPipeline, 'left' | 'lastCrawl'>,
  state: StateOfLane,
  lastCrawl: ReturnType<OpenedPipeline['lastCrawl']> = opened.lastCrawl(state),
): RequestSizes {
  const leftAt = opened.left(state);
  return (record) => {
    try {
      const { value } = record;
      const request = pipeline.requests.parse(value);
      const left = leftAt(record);
      if (left.kind === 'lookup') return left;
      const pages = left.whole ? pipeline.expect(request, lastCrawl(value, request.key)) : undefined;
      return { ...left, key: request.key, ...(pages !== undefined && { pages }) };
    } catch {
      return undefined;
    }
  };
}

/** Requests of a lane that wait in its topic behind those in work, counted and not kept. */
export interface RequestsBehind {
  /** The lane takes a request: it counts no longer. Returns its size. */
  taken(record: SizedRecord): RequestSize | undefined;
  /** Reads on to the end of the topic, where that was not done for 5 s. Failures are the lane's own to find. */
  look(): void;
  /** Walks; those of them whose size isn't known; the pages of the others. */
  readonly walks: number;
  readonly unknown: number;
  readonly pages: number;
  readonly keys: number;
  /** False while they are being counted. */
  readonly isCounted: boolean;
  /** Most keys of one HTTP request. */
  readonly keysAtOnce: number;
}

const LOOK_AGAIN_MS = 5_000;

export interface RequestsBehindOptions {
  readonly sizes: RequestSizes;
  /** The lane's unfinished requests from an offset on, in order. */
  readonly read: (from: number) => AsyncIterable<SizedRecord>;
  readonly monotonicMs: () => number;
}

/** Counts what a lane has not room for yet: each request is read once more than the lane reads it, and none is kept. */
export function requestsBehind({ sizes, read, monotonicMs }: RequestsBehindOptions): RequestsBehind {
  const counts = { walks: 0, unknown: 0, pages: 0, keys: 0, keysAtOnce: 1 };
  /** All before it are taken, or counted. */
  let takenTo = 0;
  let countedTo = 0;
  let isLooking = false;
  let isCounted = true;
  let lookedAtMs = -Infinity;

  const count = (size: RequestSize | undefined, by: 1 | -1): void => {
    if (size === undefined) return;
    if (size.kind === 'lookup') {
      counts.keys = Math.max(0, counts.keys + by * size.keys);
      counts.keysAtOnce = size.size;
      return;
    }
    counts.walks = Math.max(0, counts.walks + by);
    if (size.pages === undefined) counts.unknown = Math.max(0, counts.unknown + by);
    else counts.pages = Math.max(0, counts.pages + by * Math.max(1, size.pages - size.page + 1));
  };
  const lookOn = async (): Promise<void> => {
    for await (const record of read(Math.max(countedTo, takenTo))) {
      const { offset } = record;
      if (offset < Math.max(countedTo, takenTo)) continue;
      count(sizes(record), 1);
      countedTo = offset + 1;
    }
  };

  return {
    taken(record) {
      const { offset } = record;
      const size = sizes(record);
      if (size?.kind === 'lookup') counts.keysAtOnce = size.size;
      if (offset < countedTo) count(size, -1);
      takenTo = Math.max(takenTo, offset + 1);
      return size;
    },
    look() {
      if (isLooking || monotonicMs() - lookedAtMs < LOOK_AGAIN_MS) return;
      isLooking = true;
      if (countedTo === 0) isCounted = false;
      lookOn()
        .catch(() => undefined)
        .finally(() => {
          isLooking = false;
          isCounted = true;
          lookedAtMs = monotonicMs();
        });
    },
    get walks() {
      return counts.walks;
    },
    get unknown() {
      // As long as they are being counted there are more.
      return counts.unknown + (isCounted ? 0 : 1);
    },
    get pages() {
      return counts.pages;
    },
    get keys() {
      return counts.keys;
    },
    get isCounted() {
      return isCounted;
    },
    get keysAtOnce() {
      return counts.keysAtOnce;
    },
  };
}
