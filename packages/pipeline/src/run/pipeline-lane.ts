import type { RequestAllowance } from '@headgate/sources';
import { type Clock, type CreditPool, creditPool } from '@headgate/throttle';
import { onAbort } from '@headgate/throttle/internal';
import { type TopicLog, TopicMismatchError } from '@headgate/topics';
import { jobsDeleted } from '../lane/deleted-offsets.ts';
import { limitNotice } from './limit-notice.ts';
import { otherGroupsWarnings } from './other-groups.ts';
import { pileWarning } from './pile-warning.ts';
import { topicGone } from '../lane/state-check.ts';
import { reasonOf } from '../topics/dead-letter.ts';
import { lanesOf, requestsTopic } from '../topics/names.ts';
import type { Pipeline } from '../definition/pipeline.ts';
import type { PipelineIo } from '../definition/pipeline-definition.ts';
import type { PipelineError } from '../settings/pipeline-error.ts';
import type { JobRecord } from '../topics/job.ts';
import { type Serializers, type TopicMap, type TopicNames, recordMakers } from '../topics/topic.ts';
import type { LaneWork } from '../progress/forecast.ts';
import { LaneBacklog, type JobSizes, jobSizes } from '../progress/job-sizes.ts';
import type { RunEvent, RunGauges } from '../events/events.ts';
import { type LaneView, laneGauges, laneWork } from '../progress/lane-gauges.ts';
import type { Tracing } from '../events/tracing.ts';
import { openJournalledLane } from '../lane/journalled-lane.ts';
import type { Lane } from '../lane/lane.ts';
import type { JournalReader } from '../lane/lane-journal.ts';
import type { JobNews } from './job-news.ts';
import { LaneJobs } from './lane-jobs.ts';
import { JobReader } from './job-reader.ts';
import { type Notifier, notifier as openNotifier } from '../lane/notifier.ts';
import type { Job, Processor, SourceControls, WorkContext } from '../definition/processor.ts';
import { jobsInOrder } from '../jobs/jobs-in-order.ts';
import { resumedWalks } from '../jobs/walk-state.ts';
import { type StopDeadline, WRITTEN_WITHIN_MS } from './stop-deadline.ts';
import { laneState, STATE_KEYS } from '../lane/lane-state.ts';

/** Values that the lanes of a run share. */
export interface LaneRun {
  readonly log: TopicLog;
  readonly group: string;
  /** Number of lanes of each pipeline that splits its credentials. */
  readonly lanes: number;
  readonly names: TopicNames;
  /** Wait for new jobs when all are finished. */
  readonly follow: boolean;
  /** Check each record against its topic's schema. */
  readonly validate: boolean;
  readonly serializers: Serializers;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly emit: (event: RunEvent) => void;
  /** Called after each durable transaction of a pipeline's lane with its duration, ms. */
  readonly onCommit: (pipeline: string, ms: number) => void;
  readonly tracing: Tracing | undefined;
  /** Reads the journals of other lanes. Shared, so that lanes that open together read each journal once. */
  readonly journals: JournalReader;
  /** Tells lanes of new jobs. */
  readonly news: JobNews;
  /** Returns the ID of a topic. Shared in the same way. */
  readonly idOf: (topic: string) => Promise<string | undefined>;
  /** Maximum number of HTTP requests that the lanes of the run send together. Undefined: no maximum. */
  readonly allowance: RequestAllowance | undefined;
  /** Keys of the jobs to process. Undefined: all. */
  readonly keys: ReadonlySet<string> | undefined;
  readonly deadline: StopDeadline;
}

/** One lane of one pipeline, held by this process and ready to work. */
export interface PipelineLane {
  /** True if the lane had started a job before it was opened. */
  readonly hadJobs: boolean;
  /** Processes requests until the signal aborts or, without `follow`, until none is left. Rejects if the lane can't continue. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Checks that this process still holds the lane, because a lane without work wouldn't notice its loss. If the lane is lost, `run`
   * rejects.
   */
  confirm(): void;
  gauges(): RunGauges;
  left(): LaneWork;
  /** The error for requests that the log deleted before the lane read them. Undefined if there are none. */
  lost(): PipelineError | undefined;
  close(): Promise<void>;
}

/**
 * Takes the lane of a partition of a requests topic. Throws the errors of `TopicLog.openLane`, a `StateLostError` if the lane's state
 * doesn't match the topic, and a `TopicMismatchError` if the topic has more partitions than the pipeline has lanes.
 */
export async function openPipelineLane(run: LaneRun, pipeline: Pipeline, number: number, signal: AbortSignal): Promise<PipelineLane> {
  const { clock, emit, tracing } = run;
  const { name } = pipeline;
  const lanes = lanesOf(pipeline, run.lanes);
  if (number >= lanes) throw noSuchLane(pipeline, { number, lanes, topic: requestsTopic(pipeline, run.names) });
  const onCommit = (ms: number, works: readonly object[]): void => {
    run.onCommit(name, ms);
    tracing?.committed({ pipeline: name, lane: number, ms }, works);
  };
  const { lane, journal } = await openJournalledLane({
    ...run,
    pipeline,
    number,
    signal,
    onCommit,
    grantsAhead: pipeline.unwrittenPages > 1,
  });
  const closing = new AbortController();
  let sources: readonly SourceControls[] = [];
  const close = async (): Promise<void> => {
    closing.abort();
    await closeSources(sources, (message) => emit({ type: 'notice', level: 'warn', message: `${name}: ${message}` }));
    await lane.close();
  };
  try {
    if (number === 0) {
      for (const message of otherGroupsWarnings({ ...run, state: lane.state, pipeline })) emit({ type: 'notice', level: 'warn', message });
    }
    const io = {
      clock,
      journal,
      credits: creditPool({ max: pipeline.maxOutstanding }),
      signal: closing.signal,
      env: run.env,
      ...(run.allowance && { allowance: run.allowance }),
      onAttempt: attempts(run, pipeline, number),
    };
    const processor = pipeline.open(io, { lane: number, lanes });
    sources = processor.sources;
    return new HeldLane(run, pipeline, lane, processor, io.credits, io.signal, close);
  } catch (error) {
    await close();
    throw error;
  }
}

function noSuchLane(
  { name, credentials }: Pick<Pipeline, 'name' | 'credentials'>,
  { number, lanes, topic }: { readonly number: number; readonly lanes: number; readonly topic: string },
): TopicMismatchError {
  const cure =
    credentials === undefined
      ? 'Start over with another topics.prefix.'
      : `Set lanes to ${number + 1}, with a credential for each, and start again.`;
  const reason = `has more partitions than the ${lanes === 1 ? '1 lane' : `${lanes} lanes`} of ${name}: no run works the jobs in partition ${number}. ${cure}`;
  return new TopicMismatchError({ topic, partitions: number + 1, reason });
}

/** Closes all sources. Warns of each error instead of throwing it, so that the other sources and the lane are closed, too. */
async function closeSources(sources: readonly SourceControls[], warn: (message: string) => void): Promise<void> {
  const closings = await Promise.allSettled(sources.map(async (source) => await source.close()));
  for (const closing of closings) {
    if (closing.status === 'rejected') warn(`closing a source failed: ${reasonOf(closing.reason).message}`);
  }
}

/**
 * Emits the attempts of a lane's sources. Only the first lane reports that a service states another limit, because every lane would report
 * the same.
 */
function attempts({ emit, tracing }: LaneRun, { name, definition }: Pipeline, number: number): PipelineIo['onAttempt'] {
  const options = Object.keys(definition.options.shape);
  return ({ walk, ...attempt }) => {
    emit({ type: 'attempt', pipeline: name, ...attempt });
    tracing?.attempt({ pipeline: name, ...attempt }, walk);
    if (number === 0 && attempt.limitMismatch !== undefined) emit(limitNotice({ name, options }, attempt.limitMismatch));
  };
}

class HeldLane implements PipelineLane {
  readonly hadJobs: boolean;
  readonly close: () => Promise<void>;
  readonly #run: LaneRun;
  readonly #pipeline: Pipeline;
  readonly #lane: Lane;
  readonly #sources: readonly SourceControls[];
  readonly #context: WorkContext<unknown, TopicMap>;
  readonly #stopping = new AbortController();
  readonly #abandoned = new AbortController();
  readonly #notifier: Notifier;
  readonly #resumed: readonly JobRecord[];
  readonly #backlog: LaneBacklog;
  readonly #sizes: JobSizes;
  readonly #warnOfPile: ReturnType<typeof pileWarning>;
  readonly #jobs: LaneJobs;
  readonly #view: LaneView;
  /** The lane's unfinished work when it failed. It is kept here, because failed jobs end. */
  #unfinished: LaneWork | undefined;
  #deleted: PipelineError | undefined;

  /** `signal`: aborts when the lane is closed. */
  constructor(
    run: LaneRun,
    pipeline: Pipeline,
    lane: Lane,
    processor: Processor<unknown, TopicMap>,
    credits: CreditPool,
    signal: AbortSignal,
    close: () => Promise<void>,
  ) {
    const { log, clock } = run;
    const { name, requests, groups } = pipeline;
    // A lane that only `try` or `check --online` opened has a budget, and no jobs.
    this.hadJobs = lane.next > 0 || lane.stateUnder(STATE_KEYS.job).length > 0;
    this.close = close;
    this.#run = run;
    this.#pipeline = pipeline;
    this.#lane = lane;
    this.#sources = processor.sources;
    this.#notifier = openNotifier({ clock });
    this.#resumed = resumedWalks(lane.stateUnder);
    const { partition } = lane;
    const keyed = pipeline.makesRequests ? (request: unknown) => requests.keyed(request) : undefined;
    this.#context = {
      ...run,
      pipeline: name,
      kind: '',
      lane,
      stopping: this.#stopping.signal,
      abandoned: this.#abandoned.signal,
      credits,
      unwrittenPages: pipeline.unwrittenPages,
      topics: recordMakers({ ...run, pipeline: name, topics: pipeline.topics, partition, keyed }),
      read: (value) => requests.read(value),
      keyOf: (request) => requests.keyOf(request),
      emit: (event) => run.emit(groups !== undefined && 'request' in event ? { ...event, group: groups.of(event.key) } : event),
    };
    // The backlog uses the sizes known when the lane was opened, so that removing a request subtracts exactly the amount that was added for
    // it.
    const { get } = laneState(run.group, Object.assign(new Map(lane.state), { ageMs: () => 0 }));
    const read = (from: number) =>
      this.#unfinishedJobs(jobsInOrder({ log, topic: lane.topic, partition, from, resumed: this.#resumed, signal }));
    this.#backlog = new LaneBacklog(jobSizes(pipeline, processor, get), read, clock, groups);
    this.#sizes = jobSizes(pipeline, processor, lane.stateAt);
    const isWalking = (key: string): boolean => Iterator.from(this.#jobs).some(({ doing }) => doing?.kind === 'walk' && doing.key === key);
    this.#warnOfPile = pileWarning(pipeline, clock, isWalking, (message) => this.#warn(message));
    this.#jobs = new LaneJobs(this.#context, processor.open(this.#context), this.#notifier, (job, request) => this.#note(job, request));
    this.#view = { pipeline, lane: partition, sources: this.#sources, credits, jobs: this.#jobs, backlog: this.#backlog };
    this.#notifier.onFailure(() => {
      this.#unfinished = laneWork(this.#view);
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    let isLost = false;
    this.#lane.onFailure((error) => {
      isLost = true;
      this.#notifier.fail(error);
    });
    // Stop sending immediately, without waiting for a read of the log that is under way.
    const forget = onAbort(signal, () => {
      this.#stop();
      this.#notifier.notify();
    });
    try {
      await this.#reader(signal).read();
    } catch (error) {
      this.#notifier.fail(error);
    }
    forget();
    this.#stop();
    // Wait even if no credential is usable any more: sent requests count against the budgets, and their responses can say how long to wait.
    await this.#drain(() => !isLost && this.#jobs.size > 0);
    this.#abandoned.abort();
    try {
      this.#notifier.throwIfFailed();
    } catch (error) {
      throw topicGone(error, this.#pipeline, this.#run.names);
    }
  }

  confirm(): void {
    this.#lane.commit({ records: [] }).catch((error: unknown) => this.#notifier.fail(error));
  }

  gauges(): RunGauges {
    return laneGauges(this.#view, this.#run.clock.epochMs());
  }

  left(): LaneWork {
    return this.#unfinished ?? laneWork(this.#view);
  }

  lost(): PipelineError | undefined {
    return this.#deleted;
  }

  #reader(signal: AbortSignal): JobReader {
    const { name: pipeline } = this.#pipeline;
    const { partition: lane } = this.#lane;
    return new JobReader({
      context: this.#context,
      jobs: this.#jobs,
      notifier: this.#notifier,
      news: this.#run.news,
      backlog: this.#backlog,
      resumed: this.#resumed,
      isChosen: (record) => this.#isChosen(record),
      onBlocked: (open) =>
        this.#run.emit(
          open === undefined
            ? { type: 'requests-readable', pipeline, lane }
            : { type: 'requests-blocked', pipeline, lane, offset: open.offset, since: open.sinceMs },
        ),
      onDeleted: () => {
        this.#deleted = jobsDeleted(pipeline, this.#lane);
        this.#warn(this.#deleted.message);
      },
      follow: this.#run.follow,
      signal,
    });
  }

  /** Stops sending. The responses to HTTP requests in flight are still written. */
  #stop(): void {
    this.#stopping.abort();
    for (const source of this.#sources) source.stop();
  }

  /** Waits until the work in flight is done: at most `WRITTEN_WITHIN_MS`, and no longer than the deadline of a stop. */
  async #drain(isBusy: () => boolean): Promise<void> {
    const { clock, deadline } = this.#run;
    const until = clock.monotonicMs() + WRITTEN_WITHIN_MS;
    const forget = onAbort(deadline.written, () => this.#notifier.notify());
    while (isBusy() && !deadline.written.aborted && clock.monotonicMs() < until) await this.#notifier.waitOut(until - clock.monotonicMs());
    forget();
  }

  /** Moves a job that the lane takes from the backlog to the lane's own work. */
  #note(job: Job, request: unknown): void {
    const { record } = job;
    this.#backlog.remove(record, request);
    const size = this.#sizes(record, request);
    if (size === undefined) return;
    this.#warnOfPile(record, request, size.kind === 'walk' ? size.key : undefined);
    if (size.kind === 'walk') job.expected = size.pages;
  }

  async *#unfinishedJobs(records: AsyncIterable<JobRecord>): AsyncGenerator<JobRecord, void, void> {
    for await (const record of records) if (!this.#lane.isFinished(record.offset) && this.#isChosen(record)) yield record;
  }

  #isChosen({ key }: JobRecord): boolean {
    return this.#run.keys === undefined || this.#run.keys.has(key ?? '');
  }

  #warn(message: string): void {
    this.#run.emit({ type: 'notice', level: 'warn', message });
  }
}
