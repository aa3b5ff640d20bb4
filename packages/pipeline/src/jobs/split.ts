import type { Left, Processor } from '../definition/processor.ts';
import { assertRecordSize } from '../lane/record-size.ts';
import { type TopicMap, logRecords } from '../topics/topic.ts';
import { guard, list } from '../topics/user-function.ts';
import { dropAfter } from './after.ts';
import { jobId } from './pending-dead-letter.ts';
import { MAX_IN_WORK } from './walk-work.ts';

/** A split job needs an unknown number of requests, as the jobs that it becomes. */
const UNKNOWN: Left = { kind: 'walk', page: 1, whole: false };

/**
 * Replaces each job by the jobs that `into` returns, in one transaction and before anything is requested, such as a job with many keys by
 * jobs of one key for a `lookup`. The definition must set `makesRequests`. If `into` throws, the job becomes a dead letter.
 */
export function split<Request, Topics extends TopicMap>(into: (request: Request) => Iterable<unknown>): Processor<Request, Topics> {
  return {
    sources: [],
    open(context) {
      const { pipeline, lane, topics } = context;
      return {
        backlog: MAX_IN_WORK,
        run(job, request) {
          const dropped = dropAfter(context, job);
          if (dropped !== undefined) return dropped;
          const { record } = job;
          const id = jobId(lane, record.offset);
          const of = { pipeline, name: 'split' };
          const jobs = [...guard(of, list, () => into(request))].map((one) => topics.requests(one));
          const records = assertRecordSize(logRecords(jobs, pipeline, id, 'job', record), { pipeline, key: record.key || id, lane });
          return lane.commit({ records, finished: [record.offset] });
        },
        flush: () => undefined,
      };
    },
    size: () => UNKNOWN,
  };
}
