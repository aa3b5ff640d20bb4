import type { JobGroups } from '../definition/pipeline-definition.ts';
import type { Pipeline } from '../definition/pipeline.ts';
import type { RequestRecord } from '../topics/request.ts';
import type { TopicMap } from '../topics/topic.ts';
import type { Left, Processor, SizedJob } from '../definition/processor.ts';

/** The part of a request's record that determines how much work it is. */
export type SizedRecord = Pick<RequestRecord, 'offset' | 'value' | 'resume'>;

/** The work of a request, as far as it is known before the request starts. */
export type RequestSize =
  | (Extract<Left, { kind: 'walk' }> & {
      readonly key: string;
      /** Expected total pages. Absent if unknown. */
      readonly pages?: number;
    })
  | Exclude<Left, { kind: 'walk' }>;

/**
 * Returns how much work a request is, or undefined if that can't be determined, for example for a malformed request. `request`: the parsed
 * value, if the caller has it.
 */
export type RequestSizes = (record: SizedRecord, request?: unknown) => RequestSize | undefined;

/**
 * Estimates the work of requests from the progress in a lane's state, and from each key's last complete walk. `stateAt`: returns the value
 * of a key of that state.
 */
export function requestSizes(
  { requests, expect }: Pick<Pipeline, 'requests' | 'expect'>,
  processor: Pick<Processor<unknown, TopicMap>, 'size'>,
  stateAt: SizedJob<unknown>['stateAt'],
): RequestSizes {
  return (record, read) => {
    try {
      const request = read ?? requests.read(record.value);
      const key = requests.keyOf(request);
      const left = processor.size({ pipeline: requests.name, kind: '', record, request, key, stateAt });
      if (left.kind !== 'walk') return left;
      const { last, ...walk } = left;
      const pages = left.whole ? expect(request, last) : undefined;
      return { ...walk, key, ...(pages !== undefined && { pages }) };
    } catch {
      return undefined;
    }
  };
}

/** The number and size of the requests in a lane's topic that the lane hasn't taken yet. */
export interface LaneBacklog {
  /** Number of walks of each group, if the pipeline has groups. */
  readonly groups: ReadonlyMap<string, number>;
  /** Subtracts a request from the counts. Call it when the lane takes the request. */
  remove(record: SizedRecord, request?: unknown): void;
  /**
   * Counts new requests up to the end of the topic, unless it did so in the last 5 s. Ignores errors of the read: the lane also reads the
   * topic, and reports them.
   */
  countAhead(): void;
  readonly walks: number;
  /** Number of walks of unknown size. During the first count, it is one higher, because more walks can follow. */
  readonly unknown: number;
  /** Total pages of the walks of known size. */
  readonly pages: number;
  readonly keys: number;
  /** False during the first count of the lane's topic. */
  readonly isCounted: boolean;
  /** Maximum keys of one HTTP request. */
  readonly keysPerRequest: number;
}

const COUNT_AGAIN_MS = 5_000;

export interface LaneBacklogOptions {
  readonly sizes: RequestSizes;
  /** Reads the lane's unfinished requests from an offset on, in order. */
  readonly read: (from: number) => AsyncIterable<SizedRecord>;
  readonly monotonicMs: () => number;
  readonly groups?: JobGroups | undefined;
}

/** Counts the requests in a lane's topic that the lane hasn't taken yet, and keeps only totals. */
export function laneBacklog({ sizes, read, monotonicMs, groups }: LaneBacklogOptions): LaneBacklog {
  const counts = { walks: 0, unknown: 0, pages: 0, keys: 0, keysPerRequest: 1 };
  const byGroup = new Map<string, number>();
  /** The lane has taken all requests before this offset. */
  let takenTo = 0;
  /** All requests before this offset are counted, or were taken before they were counted. */
  let countedTo = 0;
  let isCounting = false;
  let isCounted = true;
  let countedAtMs = -Infinity;

  const count = (size: RequestSize | undefined, by: 1 | -1): void => {
    if (size === undefined || size.kind === 'after') return;
    if (size.kind === 'lookup') {
      counts.keys = Math.max(0, counts.keys + by * size.keys);
      counts.keysPerRequest = size.size;
      return;
    }
    const { page, pages } = size;
    const group = groups?.of(size.key);
    if (group !== undefined) byGroup.set(group, Math.max(0, (byGroup.get(group) ?? 0) + by));
    counts.walks = Math.max(0, counts.walks + by);
    if (pages === undefined) counts.unknown = Math.max(0, counts.unknown + by);
    else counts.pages = Math.max(0, counts.pages + by * Math.max(1, pages - page + 1));
  };
  const readAhead = async (): Promise<void> => {
    for await (const record of read(Math.max(countedTo, takenTo))) {
      const { offset } = record;
      if (offset < Math.max(countedTo, takenTo)) continue;
      count(sizes(record), 1);
      countedTo = offset + 1;
    }
  };

  return {
    remove(record, request) {
      const { offset } = record;
      const size = sizes(record, request);
      if (size?.kind === 'lookup') counts.keysPerRequest = size.size;
      if (offset < countedTo) count(size, -1);
      takenTo = Math.max(takenTo, offset + 1);
    },
    countAhead() {
      if (isCounting || monotonicMs() - countedAtMs < COUNT_AGAIN_MS) return;
      isCounting = true;
      if (countedTo === 0) isCounted = false;
      readAhead()
        .catch(() => undefined)
        .finally(() => {
          isCounting = false;
          isCounted = true;
          countedAtMs = monotonicMs();
        });
    },
    get walks() {
      return counts.walks;
    },
    get unknown() {
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
    groups: byGroup,
    get keysPerRequest() {
      return counts.keysPerRequest;
    },
  };
}
