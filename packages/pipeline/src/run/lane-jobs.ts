import type { Clock } from '@headgate/throttle';
import type { PipelineRequests } from '../definition/pipeline-requests.ts';
import type { Job, Work } from '../definition/processor.ts';
import type { RunEvent } from '../events/events.ts';
import { refuse } from '../jobs/pending-dead-letter.ts';
import type { Lane } from '../lane/lane.ts';
import type { Notifier } from '../lane/notifier.ts';
import type { RequestRecord } from '../topics/request.ts';
import { isStop } from '../topics/source-error.ts';
import type { TopicNames } from '../topics/topic.ts';

export interface LaneJobsOptions {
  readonly pipeline: string;
  readonly requests: Pick<PipelineRequests, 'read'>;
  readonly lane: Lane;
  readonly names: TopicNames;
  readonly clock: Clock;
  readonly emit: (event: RunEvent) => void;
  /** Wakes the lane when a job has ended, and ends it when a job can't continue. */
  readonly notifier: Notifier;
  readonly work: Work<unknown>;
  /** Called with each job before its work. */
  readonly onTake: (record: RequestRecord, request: unknown) => void;
  /** Aborts when the run stops. */
  readonly stopping: AbortSignal;
  /** Aborts when a stopped run waits no longer for work in flight. */
  readonly abandoned: AbortSignal;
}

/** The unfinished jobs that a lane has taken, by offset. */
export class LaneJobs {
  readonly #options: LaneJobsOptions;
  readonly #jobs = new Map<number, Job>();

  constructor(options: LaneJobsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#jobs.size;
  }

  [Symbol.iterator](): Iterator<Job> {
    return this.#jobs.values();
  }

  /** Works a job. A job that can't be worked becomes a dead letter. */
  take(record: RequestRecord): void {
    const { requests, work, onTake } = this.#options;
    const job = this.#add(record);
    try {
      if (record.refusal !== undefined) throw record.refusal;
      const request = requests.read(record.value);
      onTake(record, request);
      this.#removeAfter(job, work.run(job, request));
    } catch (error) {
      this.#removeAfter(job, refuse(this.#options, record, error));
    }
  }

  /** Finishes a job without working it. */
  drop(record: RequestRecord): void {
    this.#removeAfter(this.#add(record), this.#options.lane.commit({ records: [], finished: [record.offset] }));
  }

  #add(record: RequestRecord): Job {
    const job: Job = { record };
    this.#jobs.set(record.offset, job);
    return job;
  }

  #removeAfter({ record }: Job, end: Promise<void>): void {
    const { notifier, stopping, abandoned } = this.#options;
    end
      .catch((error: unknown) => {
        // Call this before the job is removed, so that the unfinished work of the failed lane includes it.
        if (!(stopping.aborted && (isStop(error) || abandoned.aborted))) notifier.fail(error);
      })
      .finally(() => {
        this.#jobs.delete(record.offset);
        notifier.notify();
      });
  }
}
