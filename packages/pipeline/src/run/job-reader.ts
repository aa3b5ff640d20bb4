import { endOfDeleted } from '../lane/deleted-offsets.ts';
import type { OpenTransaction } from '@headgate/topics';
import type { Notifier } from '../lane/notifier.ts';
import { type OpenTransactionWatch, openTransactionWatch } from '../lane/open-transaction-watch.ts';
import type { JobRecord } from '../topics/job.ts';
import type { TopicMap } from '../topics/topic.ts';
import type { LaneBacklog } from '../progress/job-sizes.ts';
import type { WorkContext } from '../definition/processor.ts';
import { type RepeatedJobs, repeatedJobs } from '../jobs/repeated-jobs.ts';
import { jobsInOrder } from '../jobs/jobs-in-order.ts';
import type { JobNews } from './job-news.ts';
import type { LaneJobs } from './lane-jobs.ts';

/** Delay before jobs behind an open transaction are read again. */
const BLOCKED_MS = 1_000;
/** Delay before the backlog is counted again while the lane can't take more jobs. */
const COUNT_AGAIN_MS = 5_000;

export interface JobReaderOptions {
  readonly context: WorkContext<unknown, TopicMap>;
  readonly jobs: LaneJobs;
  readonly notifier: Notifier;
  /** Wakes the lane when its topic changes. */
  readonly news: JobNews;
  readonly backlog: LaneBacklog;
  /** Jobs that an earlier holder of the lane started and didn't finish. */
  readonly resumed: readonly JobRecord[];
  /** Returns false for a job that this run leaves in the topic. */
  readonly isChosen: (record: JobRecord) => boolean;
  /** Called when an open transaction blocks the reading of jobs, and with undefined when reading is possible again. */
  readonly onBlocked: (transaction: OpenTransaction | undefined) => void;
  /** Called if the log has deleted jobs before the lane read them. */
  readonly onDeleted: () => void;
  readonly follow: boolean;
  /** Ends the reading. */
  readonly signal: AbortSignal;
}

/** Reads a lane's jobs from its topic, in order, as fast as the lane works them. */
export class JobReader {
  readonly #options: JobReaderOptions;
  readonly #watch: OpenTransactionWatch;
  readonly #repeated: RepeatedJobs;
  readonly #kept: ReadonlySet<number>;
  /** The first offset that isn't read. */
  #position: number;
  /** True until a lane without state reads its first job. Missing offsets before that job aren't reported as deleted. */
  #isNew: boolean;
  /** The position at which deleted jobs were searched last. */
  #searchedAt: number | undefined;
  /** The log has deleted jobs before this offset, and that is reported. */
  #deletedTo = 0;
  /** False while the lane's state doesn't say that these jobs are finished. */
  #isNoted = true;

  constructor(options: JobReaderOptions) {
    const { context, resumed, onBlocked, signal } = options;
    const { log, lane, clock } = context;
    const { topic, partition, next } = lane;
    this.#options = options;
    this.#position = next;
    this.#isNew = !lane.hasState;
    this.#kept = new Set(resumed.map(({ offset }) => offset));
    this.#repeated = repeatedJobs({ log, topic, partition, from: next, signal });
    this.#watch = openTransactionWatch({ log, lane, clock, signal, onChange: onBlocked });
  }

  /** Reads until the signal aborts or, without `follow`, until no job is left. Rejects if the lane can't continue. */
  async read(): Promise<void> {
    const { context, jobs, notifier, news, follow, signal } = this.#options;
    const { topic, partition } = context.lane;
    using watched = news.watch({ topic, partition }, () => notifier.notify());
    await this.#searchDeleted();
    while (!signal.aborted) {
      const isIdle = jobs.size === 0;
      // Check before the read: if no transaction is open now, the read sees every job that was committed before.
      const isBlocked = await this.#watch.check(isIdle && !follow, watched.mayBeOpen);
      const isAny = await this.#takeNew();
      if (signal.aborted) return;
      jobs.flush();
      if (isIdle && !isAny) {
        await this.#noteDeleted();
        if (!follow && !isBlocked) return;
      }
      await notifier.wait(isBlocked ? BLOCKED_MS : undefined);
    }
  }

  /** Takes the jobs up to the current end of the topic. Returns false if there are none. */
  async #takeNew(): Promise<boolean> {
    const { context, jobs, backlog, resumed, isChosen, signal } = this.#options;
    const { log, lane } = context;
    const { topic, partition } = lane;
    let isAny = false;
    for await (const record of jobsInOrder({ log, topic, partition, from: this.#position, resumed, signal })) {
      // A gap of one offset is usually the end marker of a transaction. A larger gap can be deleted jobs.
      if (record.offset > this.#position + 1) await this.#searchDeleted();
      this.#isNew = false;
      lane.skip(this.#position, record.offset);
      this.#position = record.offset + 1;
      const isRepeated = await this.#repeated.has(record);
      if (lane.isFinished(record.offset) || !isChosen(record)) continue;
      isAny = true;
      await this.#waitForRoom();
      if (signal.aborted) break;
      if (!isRepeated) jobs.take(record);
      else {
        backlog.remove(record);
        jobs.drop(record);
      }
    }
    return isAny;
  }

  async #waitForRoom(): Promise<void> {
    const { jobs, backlog, notifier, signal } = this.#options;
    while (jobs.isFull && !signal.aborted) {
      backlog.countAhead();
      await notifier.wait(COUNT_AGAIN_MS);
    }
  }

  async #searchDeleted(): Promise<void> {
    if (this.#isNew) return;
    const { context, onDeleted } = this.#options;
    this.#searchedAt = this.#position;
    const from = Math.max(this.#position, this.#deletedTo);
    const end = await endOfDeleted(context.log, context.lane, from, this.#kept);
    if (end === undefined) return;
    this.#deletedTo = end;
    this.#isNoted = false;
    onDeleted();
  }

  /** Called when the lane has nothing to do. Marks deleted jobs as finished, so that the next run doesn't report them again. */
  async #noteDeleted(): Promise<void> {
    this.#repeated.forget(this.#position);
    if (this.#searchedAt !== this.#position) await this.#searchDeleted();
    if (this.#isNoted) return;
    const { lane } = this.#options.context;
    lane.skip(this.#position, this.#deletedTo);
    await lane.commit({ records: [], finished: [this.#deletedTo - 1] });
    this.#isNoted = true;
  }
}
