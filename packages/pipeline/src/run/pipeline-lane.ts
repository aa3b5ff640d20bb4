import type { RequestAllowance } from '@headgate/sources';
import { type Clock, creditPool } from '@headgate/throttle';
import { type TopicLog, TopicMismatchError } from '@headgate/topics';
import { requestsDeleted } from '../lane/deleted-offsets.ts';
import { limitNotice } from './limit-notice.ts';
import { otherGroupsWarnings } from './other-groups.ts';
import { pileWarning } from './pile-warning.ts';
import { topicGone } from '../lane/state-check.ts';
import { reasonOf } from '../topics/dead-letter.ts';
import { lanesOf, requestsTopic } from '../topics/names.ts';
import type { Pipeline } from '../definition/pipeline.ts';
import type { PipelineIo } from '../definition/pipeline-definition.ts';
import type { PipelineError } from '../settings/pipeline-error.ts';
import type { RequestRecord } from '../topics/request.ts';
import { type Serializers, type TopicMap, type TopicNames, recordMakers } from '../topics/topic.ts';
import type { LaneWork } from '../progress/forecast.ts';
import { laneBacklog, requestSizes } from '../progress/request-sizes.ts';
import type { RunEvent, RunGauges } from '../events/events.ts';
import { inWorkOf, laneGauges, laneWork } from '../progress/lane-gauges.ts';
import type { Tracing } from '../events/tracing.ts';
import { openJournalledLane } from '../lane/journalled-lane.ts';
import type { Lane } from '../lane/lane.ts';
import type { JournalReader } from '../lane/lane-journal.ts';
import { LaneJobs } from './lane-jobs.ts';
import { runLane } from './lane-runner.ts';
import { notifier as openNotifier } from '../lane/notifier.ts';
import type { Processor, SourceControls } from '../definition/processor.ts';
import { requestsInOrder } from '../jobs/requests-in-order.ts';
import { resumedWalks } from '../jobs/walk-state.ts';
import type { StopDeadline } from './stop-deadline.ts';

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
  /** Maximum number of HTTP requests that the lanes of the run send together. Undefined: no maximum. */
  readonly allowance: RequestAllowance | undefined;
  /** Keys of the jobs to process. Undefined: all. */
  readonly keys: ReadonlySet<string> | undefined;
  readonly deadline: StopDeadline;
}

/** One lane of one pipeline, held by this process and ready to work. */
export interface PipelineLane {
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
  const { lane, journal } = await openJournalledLane({ ...run, pipeline, number, signal, onCommit });
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
    return { ...workedLane(run, { pipeline, lane, processor, credits: io.credits, signal: io.signal }), close };
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
  return (event) => {
    const { walk, error: _, ...attempt } = event;
    emit({ type: 'attempt', pipeline: name, ...attempt });
    tracing?.attempt({ pipeline: name, ...attempt }, walk);
    if (number === 0 && attempt.limitMismatch !== undefined) emit(limitNotice({ name, options }, attempt.limitMismatch));
  };
}

interface WorkedLane {
  readonly pipeline: Pipeline;
  readonly lane: Lane;
  readonly processor: Processor<unknown, TopicMap>;
  readonly credits: PipelineIo['credits'];
  /** Aborts when the lane is closed. */
  readonly signal: AbortSignal;
}

function workedLane(run: LaneRun, { pipeline, lane, processor, credits, signal }: WorkedLane): Omit<PipelineLane, 'close'> {
  const { log, clock, names, keys, tracing } = run;
  const { name, requests, groups } = pipeline;
  const emit = (event: RunEvent): void =>
    run.emit(groups !== undefined && 'request' in event ? { ...event, group: groups.of(event.key) } : event);
  const { partition } = lane;
  const { sources } = processor;
  const warn = (message: string): void => emit({ type: 'notice', level: 'warn', message });
  const isChosen = ({ key }: RequestRecord): boolean => keys === undefined || keys.has(key ?? '');
  const keyed = pipeline.makesRequests ? (request: unknown) => requests.keyed(request) : undefined;
  const topics = recordMakers({ ...run, pipeline: name, topics: pipeline.topics, partition, keyed });
  const resumed = resumedWalks(lane.stateUnder);
  const notifier = openNotifier({ clock });
  const [stopping, abandoned] = [new AbortController(), new AbortController()];
  const work = processor.open({
    pipeline: name,
    kind: '',
    group: run.group,
    lane,
    log,
    clock,
    stopping: stopping.signal,
    abandoned: abandoned.signal,
    credits,
    names,
    topics,
    read: (value) => requests.read(value),
    keyOf: (request) => requests.keyOf(request),
    emit,
    tracing,
  });

  // The backlog uses the sizes known when the lane was opened, so that removing a request subtracts exactly the amount that was added for
  // it.
  const backlog = laneBacklog({
    sizes: requestSizes(pipeline, processor, lane.stateUnder),
    monotonicMs: () => clock.monotonicMs(),
    groups,
    read: async function* (from) {
      const records = requestsInOrder({ log, topic: lane.topic, partition, from, resumed, signal });
      for await (const record of records) if (!lane.isFinished(record.offset) && isChosen(record)) yield record;
    },
  });
  const sizesNow = requestSizes(pipeline, processor, lane.stateUnder, work.lastCrawl);
  const warnOfPile = pileWarning({ pipeline, clock, isWalking: (key) => inWorkOf(jobs).walks.some((walk) => walk.key === key), warn });
  /** Expected pages of the active and the waiting walks, by offset. */
  const expected = new Map<number, number>();
  const onTake = (record: RequestRecord, request: unknown): void => {
    backlog.remove(record, request);
    const size = sizesNow(record, request);
    if (size === undefined) return;
    warnOfPile(record, request, size.kind === 'walk' ? size.key : undefined);
    if (size.kind === 'walk' && size.pages !== undefined) expected.set(record.offset, size.pages);
  };
  const jobs = new LaneJobs({
    ...run,
    pipeline: name,
    requests,
    lane,
    emit,
    notifier,
    work,
    onTake,
    stopping: stopping.signal,
    abandoned: abandoned.signal,
  });
  const stop = (): void => {
    stopping.abort();
    for (const source of sources) source.stop();
  };
  const view = () => {
    const inWork = inWorkOf(jobs);
    const offsets = new Set(inWork.walks.map(({ offset }) => offset));
    for (const offset of expected.keys()) if (!offsets.has(offset)) expected.delete(offset);
    return { pipeline: name, lane: partition, sources, inWork, expected, behind: backlog };
  };
  /** The lane's unfinished work when it failed. It is kept here, because failed jobs end. */
  let unfinished: LaneWork | undefined;
  notifier.onFailure(() => {
    unfinished = laneWork(view());
  });
  let deleted: PipelineError | undefined;
  return {
    async run(leave) {
      try {
        await runLane({
          ...run,
          pipeline: name,
          lane,
          work,
          jobs,
          stop,
          abandon: () => abandoned.abort(),
          notifier,
          backlog,
          resumed,
          onDeleted() {
            deleted = requestsDeleted(name, lane);
            warn(deleted.message);
          },
          isChosen,
          signal: leave,
        });
      } catch (error) {
        throw topicGone(error, pipeline, names);
      }
    },
    confirm() {
      lane.commit({ records: [] }).catch((error: unknown) => notifier.fail(error));
    },
    gauges: () => laneGauges({ ...view(), credits, groups, load: jobs.size, now: clock.epochMs() }),
    left: () => unfinished ?? laneWork(view()),
    lost: () => deleted,
  };
}
