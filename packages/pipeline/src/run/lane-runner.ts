import { onAbort } from '@headgate/throttle/internal';
import { endOfDeleted } from '../lane/deleted-offsets.ts';
import { openTransactionWatch } from '../lane/open-transaction-watch.ts';
import type { RequestRecord } from '../topics/request.ts';
import type { LaneBacklog } from '../progress/request-sizes.ts';
import type { Lane } from '../lane/lane.ts';
import type { Notifier } from '../lane/notifier.ts';
import type { LaneRun } from './pipeline-lane.ts';
import type { Work } from '../definition/processor.ts';
import type { LaneJobs } from './lane-jobs.ts';
import { repeatedRequests } from '../jobs/repeated-requests.ts';
import { requestsInOrder } from '../jobs/requests-in-order.ts';
import { WRITTEN_WITHIN_MS } from './stop-deadline.ts';

/** Delay before reading new requests again: `firstMs`, doubled up to `maxMs` each time that there are none. */
const POLL = { firstMs: 250, maxMs: 1_000 };
/** Delay before the backlog is counted again while the lane can't take more requests. */
const COUNT_AGAIN_MS = 5_000;

export interface LaneRunnerOptions extends Pick<LaneRun, 'log' | 'follow' | 'clock' | 'emit' | 'deadline'> {
  readonly pipeline: string;
  readonly lane: Lane;
  readonly work: Work<unknown>;
  readonly jobs: LaneJobs;
  /** Stops sending. The results of HTTP requests in flight are still written. */
  readonly stop: () => void;
  /** Gives up the work that is still in flight after `stop`. */
  readonly abandon: () => void;
  readonly notifier: Notifier;
  readonly backlog: LaneBacklog;
  /** Requests that an earlier holder of the lane started and didn't finish. */
  readonly resumed: readonly RequestRecord[];
  /** Called if the log has deleted requests before the lane read them. */
  readonly onDeleted: () => void;
  /** Returns false for a job that this run leaves in the topic. */
  readonly isChosen: (record: RequestRecord) => boolean;
  /** Ends the work gracefully. */
  readonly signal: AbortSignal;
}

/**
 * Processes a lane's requests until `signal` aborts or, without `follow`, until none is left. Rejects if the lane can't continue.
 */
export async function runLane(options: LaneRunnerOptions): Promise<void> {
  const { lane, jobs, stop, abandon, notifier, clock, signal, deadline } = options;
  let isLost = false;
  lane.onFailure((error) => {
    isLost = true;
    notifier.fail(error);
  });
  // Stop sending immediately, without waiting for a read of the log that is under way.
  const forget = onAbort(signal, () => {
    stop();
    notifier.notify();
  });
  try {
    await readRequests(options);
  } catch (error) {
    notifier.fail(error);
  }
  forget();
  stop();
  // Wait even if no credential is usable any more: sent requests count against the budgets, and their responses can say how long to wait.
  await drainInFlight(() => !isLost && jobs.size > 0, { notifier, clock, deadline });
  abandon();
  notifier.throwIfFailed();
}

/** Waits until the work in flight is done: at most `WRITTEN_WITHIN_MS`, and no longer than the deadline of a stop. */
async function drainInFlight(
  isBusy: () => boolean,
  { notifier, clock, deadline: { written } }: Pick<LaneRunnerOptions, 'notifier' | 'clock' | 'deadline'>,
): Promise<void> {
  const until = clock.monotonicMs() + WRITTEN_WITHIN_MS;
  const forget = onAbort(written, () => notifier.notify());
  while (isBusy() && !written.aborted && clock.monotonicMs() < until) await notifier.waitOut(until - clock.monotonicMs());
  forget();
}

async function readRequests(options: LaneRunnerOptions): Promise<void> {
  const { log, lane, work, jobs, notifier, backlog, resumed, isChosen, follow, signal, onDeleted } = options;
  const { topic, partition, isFinished } = lane;
  const watch = blockingWatch(options);
  const kept = new Set(resumed.map(({ offset }) => offset));
  let position = lane.next;
  /** True until a lane without state reads its first request. Missing offsets before that request aren't reported as deleted. */
  let isNew = !lane.hasState;
  let searchedAt: number | undefined;
  /** The log has deleted requests before this offset, and that is reported. */
  let deletedTo = 0;
  let isNoted = true;
  const searchDeleted = async (): Promise<void> => {
    if (isNew) return;
    searchedAt = position;
    const end = await endOfDeleted(log, { topic, partition, from: Math.max(position, deletedTo), isFinished, kept });
    if (end === undefined) return;
    deletedTo = end;
    isNoted = false;
    onDeleted();
  };
  await searchDeleted();
  const repeated = repeatedRequests({ log, topic, partition, from: position, signal });
  let pauseMs = POLL.firstMs;
  while (!signal.aborted) {
    const from = position;
    let isIdle = jobs.size === 0;
    // Check before the read: if no transaction is open now, the read sees every request that was committed before.
    const isBlocked = await watch.check(isIdle && !follow);
    for await (const record of requestsInOrder({ log, topic, partition, from, resumed, signal })) {
      // A gap of one offset is usually the end marker of a transaction. A larger gap can be deleted requests.
      if (record.offset > position + 1) await searchDeleted();
      isNew = false;
      lane.skip(position, record.offset);
      position = record.offset + 1;
      const isRepeated = await repeated.has(record);
      if (lane.isFinished(record.offset) || !isChosen(record)) continue;
      isIdle = false;
      while (jobs.size >= work.backlog && !signal.aborted) {
        backlog.countAhead();
        await notifier.wait(COUNT_AGAIN_MS);
      }
      if (signal.aborted) return;
      if (isRepeated) {
        backlog.remove(record);
        jobs.drop(record);
      } else jobs.take(record);
    }
    work.flush();
    if (isIdle) {
      repeated.forget(position);
      if (searchedAt !== position) await searchDeleted();
      if (!isNoted) {
        lane.skip(position, deletedTo);
        // Mark the deleted requests as finished, so that the next run doesn't report them again.
        await lane.commit({ records: [], finished: [deletedTo - 1] });
        isNoted = true;
      }
    }
    if (isIdle && !follow && !isBlocked) return;
    pauseMs = position > from ? POLL.firstMs : Math.min(2 * pauseMs, POLL.maxMs);
    await notifier.wait(pauseMs);
  }
}

/** Emits an event when an open transaction blocks the reading of requests, and another when reading is possible again. */
function blockingWatch({ pipeline, log, lane, clock, signal, emit }: LaneRunnerOptions) {
  return openTransactionWatch({
    log,
    lane,
    clock,
    signal,
    onChange: (open) =>
      emit(
        open === undefined
          ? { type: 'requests-readable', pipeline, lane: lane.partition }
          : { type: 'requests-blocked', pipeline, lane: lane.partition, offset: open.offset, since: open.sinceMs },
      ),
  });
}
