import type { RequestAllowance } from '@headgate/sources';
import { type Clock, creditPool } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import type { LaneWorker, Pipeline } from '../definition/define-pipeline.ts';
import type { RunEvent, RunGauges } from '../view/events.ts';
import type { Lane } from './lane.ts';
import type { JournalReader } from './lane-journal.ts';
import { outgrown } from './lane-outgrown.ts';
import { otherGroupsWarnings } from '../checks/other-groups.ts';
import { openTransactionWatch } from '../checks/open-transaction-watch.ts';
import { topicGone } from '../checks/state-check.ts';
import { lanesOf } from '../definition/names.ts';
import { type Notifier, notifier } from './notifier.ts';
import { PipelineError } from '../definition/pipeline-error.ts';
import type { RequestRecord } from '../definition/request.ts';
import { requestsInOrder } from './requests-in-order.ts';
import { reasonOf } from '../dead-letters/dead-letter.ts';
import { type Serializers, type TopicNames, recordMakers } from '../definition/topic.ts';
import { type DeletedOffsets, deletedOffsets } from '../checks/deleted-offsets.ts';
import { openJournalledLane } from './journalled-lane.ts';
import type { LaneWork } from '../forecast/forecast.ts';
import { requestSizes, requestsBehind } from '../forecast/request-sizes.ts';
import { laneGauges, laneWork } from '../view/lane-gauges.ts';
import { drainInFlight } from './wait.ts';
import { refuse } from '../dead-letters/letters.ts';
import { resumedRequests } from './resumed-requests.ts';
import { limitNotice } from '../checks/limit-notice.ts';
import type { Tracing } from '../view/tracing.ts';

export interface PipelineLaneOptions {
  readonly log: TopicLog;
  readonly group: string;
  /** The lanes of pipelines that split their credentials. */
  readonly lanes: number;
  readonly names: TopicNames;
  /** Stay when nothing is left. */
  readonly follow: boolean;
  /** Check each record against its topic's schema. */
  readonly validate: boolean;
  readonly serializers: Serializers;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly emit: (event: RunEvent) => void;
  /** Called with the duration of each durable transaction of its lane, ms. */
  readonly onCommit: (pipeline: string, ms: number) => void;
  readonly tracing: Tracing | undefined;
  /** Shared by the lanes of a run. */
  readonly journals: JournalReader;
  /** Shared by the lanes of a run. */
  readonly allowance: RequestAllowance | undefined;
  /** Keys of the jobs to work. Undefined: all. */
  readonly keys: ReadonlySet<string> | undefined;
}

/** One lane of one pipeline, held by this process and ready to work. */
export interface PipelineLane {
  /** Works until nothing is left, or until the signal. Rejects when the lane can't go on. */
  run(signal: AbortSignal): Promise<void>;
  /** Finds out whether the lane is still this process's: one without work would not notice. Where it isn't, `run` rejects. */
  confirm(): void;
  gauges(): RunGauges;
  /** Its unfinished work, for forecasts. */
  left(): LaneWork;
  /** Work that the log has lost; undefined if there is none. */
  lost(): PipelineError | undefined;
  /** Gives the lane up. */
  close(): Promise<void>;
}

/** Takes the lane of a requests topic's partition. Throws what `TopicLog.openLane` throws, and a `StateLostError`. */
export async function openPipelineLane(
  options: PipelineLaneOptions,
  pipeline: Pipeline,
  number: number,
  signal: AbortSignal,
): Promise<PipelineLane> {
  const { log, clock, names, env, emit, follow, validate, serializers, tracing, allowance, keys } = options;
  const isChosen = ({ key }: RequestRecord): boolean => keys === undefined || keys.has(key ?? '');
  const lanes = lanesOf(pipeline, options.lanes);
  const { name } = pipeline;
  const { lane, journal } = await openJournalledLane({
    ...options,
    pipeline,
    number,
    signal,
    onCommit(ms, works) {
      options.onCommit(name, ms);
      tracing?.committed({ pipeline: name, lane: number, ms }, works);
    },
  });
  let closeSources = async (): Promise<void> => undefined;
  try {
    // One lane tells it for all.
    const others = number === 0 ? otherGroupsWarnings({ state: lane.state, group: options.group, pipeline, names }) : [];
    for (const message of others) emit({ type: 'notice', level: 'warn', message });
    const credits = creditPool({ max: pipeline.maxOutstanding });
    const own = notifier({ clock });
    const waker: Notifier = {
      ...own,
      fail(error) {
        failing();
        own.fail(error);
      },
    };
    const leaving = new AbortController();
    const opened = pipeline.open({
      lane: number,
      lanes,
      clock,
      journal,
      credits,
      signal: leaving.signal,
      env,
      ...(allowance && { allowance }),
      onAttempt: ({ walk, ...event }) => {
        emit({ type: 'attempt', pipeline: name, ...event });
        tracing?.attempt({ pipeline: name, ...event }, walk);
        // One lane tells it for all.
        if (number === 0 && event.limitMismatch !== undefined)
          emit(limitNotice({ name, options: Object.keys(pipeline.definition.options.shape) }, event.limitMismatch));
      },
    });
    const { sources } = opened;
    closeSources = async () => {
      leaving.abort();
      // One that can't be closed keeps neither the others open nor the lane held.
      const closing = await Promise.allSettled(sources.map(async (source) => await source.close()));
      for (const closed of closing) {
        if (closed.status === 'fulfilled') continue;
        emit({ type: 'notice', level: 'warn', message: `${name}: closing a source failed: ${reasonOf(closed.reason).message}` });
      }
    };
    const keyed = pipeline.makesRequests ? (request: unknown) => pipeline.requests.keyed(request) : undefined;
    const topics = recordMakers({ pipeline: name, topics: pipeline.topics, names, partition: number, validate, serializers, keyed });
    const resumed = resumedRequests(lane.stateUnder);
    const worker = opened.worker({ pipeline: name, lane, log, clock, notifier: waker, credits, names, topics, emit, tracing });
    const sizes = requestSizes(pipeline, opened, lane.stateUnder);
    const behind = requestsBehind({
      sizes,
      monotonicMs: () => clock.monotonicMs(),
      read: async function* (from) {
        const requests = requestsInOrder({ log, topic: lane.topic, partition: number, from, resumed, signal: leaving.signal });
        for await (const request of requests) if (!lane.isFinished(request.offset) && isChosen(request)) yield request;
      },
    });
    const expected = new Map<number, number>();
    // Those behind are counted by what the lane knew at first: what counts one and what takes it off again must agree.
    const sizesNow = requestSizes(pipeline, opened, lane.stateUnder, (value, key) => worker.lastCrawl(value, key));
    const openedAtMs = clock.epochMs();
    let isPileTold = false;
    const warnOfPile = ({ timestampMs = 0, value }: RequestRecord, size: ReturnType<typeof sizesNow>): void => {
      if (isPileTold || size === undefined) return;
      const everyMs = pipeline.everyOf(value);
      if (everyMs === undefined) return;
      const waitedMs = clock.epochMs() - timestampMs;
      // Time that no run was there for says nothing about the pace of one.
      const isLate = timestampMs >= openedAtMs && waitedMs > everyMs;
      const beside = size.kind === 'walk' && worker.inWork().walks.some(({ key }) => key === size.key) ? size.key : undefined;
      if (!isLate && beside === undefined) return;
      isPileTold = true;
      const what = isLate
        ? `a job waited ${Math.round(waitedMs / 1_000).toLocaleString('en-US')} s before it started, and every is ` +
          `${(everyMs / 1_000).toLocaleString('en-US')} s`
        : `${beside} is due again while its previous crawl is unfinished`;
      const message = `${name}: ${what}. Jobs pile up if the whole list takes longer than every: make every longer.`;
      emit({ type: 'notice', level: 'warn', message });
    };
    const taking = (record: RequestRecord): void => {
      behind.taken(record);
      const size = sizesNow(record);
      warnOfPile(record, size);
      if (size?.kind === 'walk' && size.pages !== undefined) expected.set(record.offset, size.pages);
    };
    const shown = () => {
      const inWork = worker.inWork();
      const offsets = new Set(inWork.walks.map(({ offset }) => offset));
      for (const offset of expected.keys()) if (!offsets.has(offset)) expected.delete(offset);
      return { pipeline: name, lane: number, sources, inWork, expected, behind };
    };
    /** What was left when the lane failed: its worker gives it all up then. */
    let unfinished: LaneWork | undefined;
    const failing = (): void => void (unfinished ??= laneWork(shown()));
    let lost: PipelineError | undefined;
    return {
      async run(leave) {
        const deleted = await deletedOffsets(log, lane, new Set(resumed.map(({ offset }) => offset)));
        if (deleted !== undefined && deleted.count > 0) {
          lost = requestsDeleted(deleted, { pipeline: name, lane });
          emit({ type: 'notice', level: 'warn', message: lost.message });
        }
        await workLane({
          log,
          lane,
          worker,
          isChosen,
          taking,
          isFull: () => behind.look(),
          resumed,
          deleted,
          waker,
          follow,
          clock,
          signal: leave,
          pipeline: name,
          names,
          emit,
          failing,
        }).catch(async (error: unknown) => await Promise.reject(topicGone(await outgrown(error, { log, lane }), pipeline, names)));
      },
      confirm() {
        lane.commit({ records: [] }).catch((error: unknown) => waker.fail(error));
      },
      gauges: () => laneGauges({ ...shown(), credits, load: worker.load, now: clock.epochMs() }),
      left: () => unfinished ?? laneWork(shown()),
      lost: () => lost,
      async close() {
        await closeSources();
        await lane.close();
      },
    };
  } catch (error) {
    await closeSources();
    await lane.close();
    throw error;
  }
}

function requestsDeleted(
  { count }: DeletedOffsets,
  { pipeline, lane: { topic, partition } }: { readonly pipeline: string; readonly lane: Pick<Lane, 'topic' | 'partition'> },
): PipelineError {
  return new PipelineError({
    code: 'HEADGATE_REQUESTS_DELETED',
    message:
      `${topic}-${partition}: the log deleted up to ${count.toLocaleString('en-US')} jobs before a run worked them. ` +
      "Some of these offsets may have been end markers of transactions: the log can't tell them apart any more. Enqueue the lost jobs again, and set retention.ms=-1 on that topic.",
    pipeline,
  });
}

/** How long to wait before looking for new requests: at first, and twice as long each time that there are none. */
const LOOK_AGAIN = { firstMs: 250, mostMs: 1_000 };
/** How long to wait before counting new requests behind those in work. */
const COUNT_AGAIN_MS = 5_000;

interface WorkLaneOptions extends Pick<PipelineLaneOptions, 'log' | 'follow' | 'clock' | 'emit' | 'names'> {
  readonly pipeline: string;
  readonly lane: Lane;
  readonly worker: LaneWorker;
  /** False for a job that stays in the topic. */
  readonly isChosen: (record: RequestRecord) => boolean;
  /** Called with each request before the worker takes it. */
  readonly taking: (record: RequestRecord) => void;
  /** Called whenever no further request is taken for now. */
  readonly isFull: () => void;
  /** Unfinished requests from before the lane was opened. */
  readonly resumed: readonly RequestRecord[];
  /** What the log has deleted before the lane has read it. */
  readonly deleted: DeletedOffsets | undefined;
  readonly waker: Notifier;
  /** Called before the worker gives up what a failure leaves undone. */
  readonly failing: () => void;
  /** Ends the work gracefully. */
  readonly signal: AbortSignal;
}

/** Works a lane until nothing is left, or until `signal`. Rejects when the lane or its worker can't go on. */
async function workLane(options: WorkLaneOptions): Promise<void> {
  const { log, lane, worker, isChosen, taking, isFull, resumed, waker, follow, signal, clock, pipeline, names, emit, failing } = options;
  const wake = (): void => waker.notify();
  signal.addEventListener('abort', wake);
  let { deleted } = options;
  let isLost = false;
  lane.onFailure((error) => {
    isLost = true;
    waker.fail(error);
  });
  const { topic, partition } = lane;
  const watch = openTransactionWatch({
    log,
    lane,
    clock,
    signal,
    onChange: (open) =>
      emit(
        open === undefined
          ? { type: 'requests-readable', pipeline, lane: partition }
          : { type: 'requests-blocked', pipeline, lane: partition, offset: open.offset, since: open.sinceMs },
      ),
  });
  let refusing = 0;
  const begun = new Set(resumed.map(({ offset }) => offset));
  const take = (record: Parameters<LaneWorker['take']>[0]): void => {
    try {
      if (record.refusal !== undefined) throw record.refusal;
      taking(record);
      worker.take(record);
    } catch (error) {
      refusing += 1;
      refuse({ pipeline, lane, names, clock, emit }, record, error, begun.has(record.offset))
        .catch((failure: unknown) => waker.fail(failure))
        .finally(() => {
          refusing -= 1;
          waker.notify();
        });
    }
  };
  let position = lane.next;
  let pauseMs = LOOK_AGAIN.firstMs;
  try {
    while (!signal.aborted) {
      const from = position;
      let idle = worker.load + refusing === 0;
      // Before reading: requests that were committed by then are seen, unless an open transaction is in the way.
      const isBlocked = await watch.look(idle && !follow);
      for await (const request of requestsInOrder({ log, topic, partition, from: position, resumed, signal })) {
        lane.skip(position, request.offset);
        position = request.offset + 1;
        if (lane.isFinished(request.offset) || !isChosen(request)) continue;
        idle = false;
        while (worker.load + refusing >= worker.backlog && !signal.aborted) {
          isFull();
          await waker.wait(COUNT_AGAIN_MS);
        }
        if (signal.aborted) return;
        take(request);
      }
      worker.flush();
      if (idle && deleted !== undefined) {
        lane.skip(lane.next, deleted.before - 1);
        // They are told of once.
        await lane.commit({ records: [], finished: [deleted.before - 1] });
        deleted = undefined;
      }
      if (idle && !follow && !isBlocked) return;
      pauseMs = position > from ? LOOK_AGAIN.firstMs : Math.min(2 * pauseMs, LOOK_AGAIN.mostMs);
      await waker.wait(pauseMs);
    }
  } catch (error) {
    failing();
    throw error;
  } finally {
    signal.removeEventListener('abort', wake);
    worker.stop();
    // Also where no credential is left: what was sent is paid for, and its answer may say how long nothing may be sent.
    await drainInFlight({ notifier: waker, clock, isBusy: () => !isLost && (worker.isBusy || refusing > 0) });
    worker.abandon();
    waker.throwIfFailed();
  }
}
