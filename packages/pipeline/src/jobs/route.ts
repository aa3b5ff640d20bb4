import type { TopicMap } from '../topics/topic.ts';
import { textOf } from '../settings/thrown.ts';
import { guard, list, misuse } from '../topics/user-function.ts';
import type { Processor, Work, WorkContext } from '../definition/processor.ts';

/** The processor for each kind that `pick` returns. */
export type RoutedProcessors<Picked extends readonly [string, unknown], Topics extends TopicMap> = {
  readonly [Kind in Picked[0]]: Processor<JobValueOf<Picked, Kind>, Topics>;
};

type JobValueOf<Picked, Kind> = Picked extends readonly [infer Kinds, infer Request] ? (Kind extends Kinds ? Request : never) : never;

/**
 * Processes requests of several kinds. `pick` returns each request with its kind, as `[kind, request]`, and `works` has a processor for
 * each kind. Each lane opens one work per kind. Requests of two kinds can have the same key: last crawls and carried values are kept per
 * kind. After a change of the kind, or of whether there is a `route`, the next crawl of a key starts without them.
 */
export function route<Request, const Picked extends readonly [kind: string, request: Request], Topics extends TopicMap>(
  pick: (request: Request) => Picked,
  works: RoutedProcessors<Picked, Topics>,
): Processor<Request, Topics> {
  // The cast is safe, because each processor gets only requests of one kind.
  const byKind = new Map(Object.entries<Processor<Request, Topics>>(works as Readonly<Record<string, Processor<Request, Topics>>>));
  const all = [...byKind.values()];
  return {
    // Two kinds can share a source, which must be closed only once.
    sources: [...new Set(all.flatMap(({ sources }) => sources))],
    open: (context) => routedWork(pick, byKind, context),
    size(job) {
      const { kind, value, request } = picked(pick, byKind, job.request, job.pipeline);
      return value.size({ ...job, request, kind: stateKind(job.kind, kind) });
    },
  };
}

type Pick<Request> = (request: Request) => readonly [kind: string, request: Request];

function routedWork<Request, Topics extends TopicMap>(
  pick: Pick<Request>,
  processors: ReadonlyMap<string, Processor<Request, Topics>>,
  context: WorkContext<Request, Topics>,
): Work<Request> {
  const works = new Map([...processors].map(([kind, one]) => [kind, one.open({ ...context, kind: stateKind(context.kind, kind) })]));
  const all = [...works.values()];
  return {
    backlog: Math.max(...all.map(({ backlog }) => backlog)),
    run(job, given) {
      const { value, request } = picked(pick, works, given, context.pipeline);
      return value.run(job, request);
    },
    flush() {
      for (const work of all) work.flush();
    },
  };
}

/** Returns the kind that `pick` returns, its value, and the request that `pick` returns with it. Throws for an unknown kind. */
function picked<Request, Value>(pick: Pick<Request>, byKind: ReadonlyMap<string, Value>, given: Request, pipeline: string) {
  const of = { pipeline, name: 'route' };
  const [kind, request] = guard<readonly unknown[]>(of, list, () => pick(given)) as [unknown, Request];
  const value = typeof kind === 'string' ? byKind.get(kind) : undefined;
  if (value === undefined)
    throw misuse(of, `returned the unknown kind ${textOf(kind)}`, `It must return one of ${[...byKind.keys()].join(', ')}`);
  return { kind: String(kind), value, request };
}

/** Returns the state prefix of a kind. Encoding removes slashes from the kind, so no prefix is the start of another. */
function stateKind(above: string, kind: string): string {
  return `${above}${encodeURIComponent(kind)}/`;
}
