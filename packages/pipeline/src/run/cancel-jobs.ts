import { pipelineChecks } from '../settings/pipeline-error.ts';
import { type Clock, systemClock } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import { openJournalledLane } from '../lane/journalled-lane.ts';
import type { Lane } from '../lane/lane.ts';
import { resumedWalks } from '../jobs/walk-state.ts';
import { lanesOf, requestsTopic, topicNames } from '../topics/names.ts';
import type { TopicNames } from '../topics/topic.ts';
import type { PipelineTopics } from '../topics/topics.ts';
import { jobsInOrder } from '../jobs/jobs-in-order.ts';

/** Options of {@link cancelJobs}. */
export interface CancelJobsOptions {
  /** Log that has the pipeline's topics. It stays open. */
  readonly log: TopicLog;
  /** Pipeline whose jobs are withdrawn. */
  readonly pipeline: PipelineTopics;
  /** Key of the jobs to withdraw. */
  readonly key: string;
  /** Group of the runs. Default `headgate`. */
  readonly group?: string;
  /** Number of lanes of the runs. Default 1. */
  readonly lanes?: number;
  /** Returns the log's name of a topic. Default: `topicNames()`, which changes no name. */
  readonly names?: TopicNames;
  /** Clock for the lanes. Default: the machine's clock. */
  readonly clock?: Clock;
  /** Stops the work when it aborts. Default: never. */
  readonly signal?: AbortSignal;
}

/**
 * Withdraws the jobs of a key that no run has started: they count as finished, and stay in their topic. Returns how many were
 * withdrawn, and how many weren't, because a run had started them. Takes the lanes for a moment. Throws `LaneHeldError` if a run holds one
 * of them, and then withdraws nothing. A started job is one with progress in the lane's state.
 */
export async function cancelJobs(options: CancelJobsOptions): Promise<{ readonly canceled: number; readonly begun: number }> {
  const { log, pipeline, key, group = 'headgate', lanes = 1, names = topicNames(), clock = systemClock(), signal } = options;
  pipelineChecks('cancelJobs', 'HEADGATE_INVALID_OPTION').whole({ lanes }, 1);
  const topic = requestsTopic(pipeline, names);
  const opened: Lane[] = [];
  let canceled = 0;
  let begun = 0;
  try {
    // Take all lanes before withdrawing the first job. If a run holds a lane, all jobs stay.
    for (let number = 0; number < lanesOf(pipeline, lanes); number += 1) {
      signal?.throwIfAborted();
      const { lane } = await openJournalledLane({ log, group, lanes, names, clock, pipeline, number, onlyIfFree: true, signal });
      opened.push(lane);
    }
    for (const lane of opened) {
      const inWork = new Set(resumedWalks(lane.stateUnder).map(({ offset }) => offset));
      const finished: number[] = [];
      const { partition, next: from } = lane;
      const requests = jobsInOrder({ log, topic, partition, from, resumed: [], signal });
      for await (const request of requests) {
        if (request.key !== key || lane.isFinished(request.offset)) continue;
        if (inWork.has(request.offset)) begun += 1;
        else finished.push(request.offset);
      }
      // An aborted reading ends early, as if there were no more jobs.
      signal?.throwIfAborted();
      if (finished.length > 0) await lane.commit({ records: [], finished });
      canceled += finished.length;
    }
  } finally {
    for (const lane of opened) await lane.close();
  }
  return { canceled, begun };
}
