import type { RequestRecord } from '../topics/request.ts';
import type { TopicMap } from '../topics/topic.ts';
import { callUserList } from '../topics/user-function.ts';
import type { Left, Processor, Worker, WorkerContext } from '../definition/processor.ts';
import { sizedRecords } from '../lane/record-size.ts';
import { requestId } from './pending-dead-letter.ts';
import { afterDropper } from './after.ts';
import { MAX_IN_WORK } from './walk.ts';

/** A split job needs an unknown number of requests, as the jobs that it becomes. */
const UNKNOWN: Left = { kind: 'walk', page: 1, whole: false };

/**
 * Replaces each job by the jobs that `into` returns, in one transaction and before anything is requested, such as a job with many keys by
 * jobs of one key for a `lookup`. The definition must set `makesRequests`. If `into` throws, the job becomes a dead letter.
 */
export function split<Request, Topics extends TopicMap>(into: (request: Request) => Iterable<unknown>): Processor<Request, Topics> {
  return {
    sources: [],
    open: (context) => splitWorker(into, context),
    left: () => () => UNKNOWN,
    lastCrawl: () => () => undefined,
  };
}

function splitWorker<Request, Topics extends TopicMap>(
  into: (request: Request) => Iterable<unknown>,
  context: WorkerContext<Request, Topics>,
): Worker<Request> {
  const { pipeline, lane, notifier, topics } = context;
  const isDropped = afterDropper(context);
  let load = 0;
  const recordsOf = (record: RequestRecord, request: Request) => {
    const id = requestId(lane, record.offset);
    const of = { pipeline, key: record.key || id, name: 'split' };
    const jobs = callUserList(of, () => into(request)).map((job) => topics.requests(job));
    return sizedRecords(jobs, { ...of, request: id, defaultId: 'job', origin: record, headers: undefined, lane });
  };
  return {
    backlog: MAX_IN_WORK,
    get load() {
      return load;
    },
    take(record, request) {
      if (isDropped(record)) return;
      const records = recordsOf(record, request);
      load += 1;
      lane
        .commit({ records, finished: [record.offset] })
        .catch((error: unknown) => notifier.fail(error))
        .finally(() => {
          load -= 1;
          notifier.notify();
        });
    },
    flush: () => undefined,
    stop: () => undefined,
    get isBusy() {
      return load > 0;
    },
    abandon: () => undefined,
    inWork: () => ({ walks: [], keys: 0 }),
    lastCrawl: () => undefined,
  };
}
