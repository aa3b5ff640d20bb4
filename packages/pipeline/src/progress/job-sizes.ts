import type { Clock } from '@headgate/throttle';
import type { JobGroups } from '../definition/pipeline-definition.ts';
import type { Pipeline } from '../definition/pipeline.ts';
import type { JobRecord } from '../topics/job.ts';
import type { TopicMap } from '../topics/topic.ts';
import { pagesLeft } from './forecast.ts';
import type { Left, Processor, SizedJob } from '../definition/processor.ts';

/** The part of a job's record that determines how much work it is. */
export type SizedRecord = Pick<JobRecord, 'offset' | 'value' | 'resume'>;

/** The work of a job, as far as it is known before the job starts. */
export type JobSize =
  | (Extract<Left, { kind: 'walk' }> & {
      readonly key: string;
      /** Expected total pages. Absent if unknown. */
      readonly pages?: number;
    })
  | Exclude<Left, { kind: 'walk' }>;

/**
 * Returns how much work a job is, or undefined if that can't be determined, for example for a malformed job. `request`: the parsed
 * value, if the caller has it.
 */
export type JobSizes = (record: SizedRecord, request?: unknown) => JobSize | undefined;

/**
 * Estimates the work of jobs from the progress in a lane's state, and from each key's last complete walk. `stateAt`: returns the value
 * of a key of that state.
 */
export function jobSizes(
  { requests, expect }: Pick<Pipeline, 'requests' | 'expect'>,
  processor: Pick<Processor<unknown, TopicMap>, 'size'>,
  stateAt: SizedJob<unknown>['stateAt'],
): JobSizes {
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

const COUNT_AGAIN_MS = 5_000;

/** Counts the jobs in a lane's topic that the lane hasn't taken yet, and keeps only totals. */
export class LaneBacklog {
  /** Number of walks of each group, if the pipeline has groups. */
  readonly groups: Map<string, number> = new Map();
  walks = 0;
  /** Total pages of the walks of known size. */
  pages = 0;
  keys = 0;
  /** Maximum keys of one HTTP request. */
  keysPerRequest = 1;
  /** False during the first count of the lane's topic. */
  isCounted = true;
  #unknown = 0;
  /** The lane has taken all jobs before this offset. */
  #takenTo = 0;
  /** All jobs before this offset are counted, or were taken before they were counted. */
  #countedTo = 0;
  #isCounting = false;
  #countedAtMs = -Infinity;
  readonly #sizes: JobSizes;
  readonly #read: (from: number) => AsyncIterable<SizedRecord>;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #groupsOf: JobGroups | undefined;

  /** `read`: reads the lane's unfinished jobs from an offset on, in order. */
  constructor(sizes: JobSizes, read: (from: number) => AsyncIterable<SizedRecord>, clock: Pick<Clock, 'monotonicMs'>, groups?: JobGroups) {
    this.#sizes = sizes;
    this.#read = read;
    this.#clock = clock;
    this.#groupsOf = groups;
  }

  /** Number of walks of unknown size. During the first count, it is one higher, because more walks can follow. */
  get unknown(): number {
    return this.#unknown + (this.isCounted ? 0 : 1);
  }

  /** Subtracts a job from the counts. Call it when the lane takes the job. */
  remove(record: SizedRecord, request?: unknown): void {
    const size = this.#sizes(record, request);
    if (size?.kind === 'lookup') this.keysPerRequest = size.size;
    if (record.offset < this.#countedTo) this.#count(size, -1);
    this.#takenTo = Math.max(this.#takenTo, record.offset + 1);
  }

  /**
   * Counts new jobs up to the end of the topic, unless it did so in the last 5 s. Ignores errors of the read: the lane also reads the
   * topic, and reports them.
   */
  countAhead(): void {
    if (this.#isCounting || this.#clock.monotonicMs() - this.#countedAtMs < COUNT_AGAIN_MS) return;
    this.#isCounting = true;
    if (this.#countedTo === 0) this.isCounted = false;
    this.#readAhead()
      .catch(() => undefined)
      .finally(() => {
        this.#isCounting = false;
        this.isCounted = true;
        this.#countedAtMs = this.#clock.monotonicMs();
      });
  }

  async #readAhead(): Promise<void> {
    for await (const record of this.#read(Math.max(this.#countedTo, this.#takenTo))) {
      const { offset } = record;
      if (offset < Math.max(this.#countedTo, this.#takenTo)) continue;
      this.#count(this.#sizes(record), 1);
      this.#countedTo = offset + 1;
    }
  }

  #count(size: JobSize | undefined, by: 1 | -1): void {
    const changed = (count: number, times = 1): number => Math.max(0, count + by * times);
    if (size === undefined || size.kind === 'after') return;
    if (size.kind === 'lookup') {
      this.keys = changed(this.keys, size.keys);
      this.keysPerRequest = size.size;
      return;
    }
    const group = this.#groupsOf?.of(size.key);
    if (group !== undefined) this.groups.set(group, changed(this.groups.get(group) ?? 0));
    this.walks = changed(this.walks);
    const left = pagesLeft(size);
    if (left === undefined) this.#unknown = changed(this.#unknown);
    else this.pages = changed(this.pages, left);
  }
}
