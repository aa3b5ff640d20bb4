import { callUser } from '../endings.ts';
import type { TopicMap } from '../topic.ts';
import type { Work, Worker, WorkerContext } from '../worker.ts';

/**
 * Works requests of several kinds: `pick` names the work of each. Every kind has a worker of its own in each lane, and they share its
 * budget and credit.
 */
export function route<Request, Kind extends string, Topics extends TopicMap>(
  pick: (request: Request) => Kind,
  works: Readonly<Record<Kind, Work<Request, Topics>>>,
): Work<Request, Topics> {
  const all = Object.values<Work<Request, Topics>>(works);
  return {
    // Two works of one source close it once.
    sources: [...new Set(all.flatMap(({ sources }) => sources))],
    open: (context) => routeWorker(pick, works, context),
    left(state) {
      const left = mapped(works, (work) => work.left(state));
      return (offset, request) => left[pick(request)](offset, request);
    },
    resumed: (state, pipeline) => all.flatMap((work) => work.resumed(state, pipeline)),
    lastCrawls: (state) => new Map(all.flatMap((work) => [...work.lastCrawls(state)])),
    unfinishedAfter: (state) => Math.max(0, ...all.map((work) => work.unfinishedAfter(state))),
  };
}

function routeWorker<Request, Kind extends string, Topics extends TopicMap>(
  pick: (request: Request) => Kind,
  works: Readonly<Record<Kind, Work<Request, Topics>>>,
  context: WorkerContext<Request, Topics>,
): Worker<Request> {
  const workers = mapped(works, (work) => work.open(context));
  const all = Object.values<Worker<Request>>(workers);
  return {
    backlog: Math.max(...all.map(({ backlog }) => backlog)),
    get load() {
      return all.reduce((sum, { load }) => sum + load, 0);
    },
    has: (offset) => all.some((worker) => worker.has(offset)),
    take(record, request) {
      const name = { pipeline: context.pipeline, key: record.key ?? '', name: 'route' };
      callUser(name, () => {
        const kind = pick(request);
        if (!Object.hasOwn(workers, kind)) throw new RangeError(`there is no work "${kind}" (${Object.keys(workers).join(', ')})`);
        return workers[kind];
      }).take(record, request);
    },
    flush() {
      for (const worker of all) worker.flush();
    },
    stop() {
      for (const worker of all) worker.stop();
    },
    get isBusy() {
      return all.some(({ isBusy }) => isBusy);
    },
    abandon() {
      for (const worker of all) worker.abandon();
    },
  };
}

function mapped<Key extends string, From, To>(from: Readonly<Record<Key, From>>, to: (value: From) => To): Record<Key, To> {
  return Object.fromEntries(Object.entries<From>(from).map(([key, value]) => [key, to(value)])) as Record<Key, To>;
}
