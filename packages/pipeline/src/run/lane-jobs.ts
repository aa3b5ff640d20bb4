import type { Job, Work, WorkContext } from '../definition/processor.ts';
import { refuse } from '../jobs/pending-dead-letter.ts';
import { STATE_KEYS } from '../lane/lane-state.ts';
import type { Notifier } from '../lane/notifier.ts';
import type { JobRecord } from '../topics/job.ts';
import { isStop } from '../topics/source-error.ts';
import type { TopicMap } from '../topics/topic.ts';

/** The unfinished jobs that a lane has taken, by offset. */
export class LaneJobs {
  readonly #context: WorkContext<unknown, TopicMap>;
  readonly #work: Work<unknown>;
  readonly #notifier: Notifier;
  readonly #onTake: (job: Job, request: unknown) => void;
  readonly #jobs = new Map<number, Job>();

  /**
   * `notifier`: woken when a job has ended, and failed when a job can't continue. `onTake`: called with each job before its work.
   */
  constructor(
    context: WorkContext<unknown, TopicMap>,
    work: Work<unknown>,
    notifier: Notifier,
    onTake: (job: Job, request: unknown) => void = () => undefined,
  ) {
    this.#context = context;
    this.#work = work;
    this.#notifier = notifier;
    this.#onTake = onTake;
  }

  get size(): number {
    return this.#jobs.size;
  }

  /** True if the lane should take no more jobs. */
  get isFull(): boolean {
    return this.#jobs.size >= this.#work.backlog;
  }

  [Symbol.iterator](): Iterator<Job> {
    return this.#jobs.values();
  }

  /** Works a job. A job that can't be worked becomes a dead letter. */
  take(record: JobRecord): void {
    const job = this.#add(record);
    try {
      if (record.refusal !== undefined) throw record.refusal;
      const request = this.#context.read(record.value);
      this.#onTake(job, request);
      this.#removeAfter(job, this.#work.run(job, request));
    } catch (error) {
      this.#removeAfter(job, refuse(this.#context, job, error));
    }
  }

  /** Finishes a job without working it. */
  drop(record: JobRecord): void {
    this.#removeAfter(this.#add(record), this.#context.lane.commit({ records: [], finished: [record.offset] }));
  }

  /** Tells the work that the topic has no more jobs now. */
  flush(): void {
    this.#work.flush();
  }

  #add(record: JobRecord): Job {
    const job: Job = { record, row: this.#context.lane.stateAt(STATE_KEYS.job + String(record.offset)) };
    this.#jobs.set(record.offset, job);
    return job;
  }

  #removeAfter({ record }: Job, end: Promise<void>): void {
    const { stopping, abandoned } = this.#context;
    end
      .catch((error: unknown) => {
        // Call this before the job is removed, so that the unfinished work of the failed lane includes it.
        if (!(stopping.aborted && (isStop(error) || abandoned.aborted))) this.#notifier.fail(error);
      })
      .finally(() => {
        this.#jobs.delete(record.offset);
        this.#notifier.notify();
      });
  }
}
