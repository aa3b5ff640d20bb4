import type { TopicMap } from '../topics/topic.ts';
import { textOf } from '../settings/thrown.ts';
import { guard, list, misuse, type UserFunction } from '../topics/user-function.ts';
import type { Processor, Work, WorkContext } from '../definition/processor.ts';

/** The processor for each kind that `pick` returns. */
export type RoutedProcessors<Picked extends readonly [string, unknown], Topics extends TopicMap> = {
  readonly [Kind in Picked[0]]: Processor<RequestOf<Picked, Kind>, Topics>;
};

type RequestOf<Picked, Kind> = Picked extends readonly [infer Kinds, infer Request] ? (Kind extends Kinds ? Request : never) : never;

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
    left(state, pipeline) {
      const left = new Map([...byKind].map(([kind, work]) => [kind, work.left(state, pipeline)]));
      return (record, request) => {
        const [of, routed] = picked({ pipeline, name: 'route' }, { pick, choices: left, request });
        return of(record, routed);
      };
    },
    lastCrawl(state, { pipeline, kind: above }) {
      const lastCrawl = new Map(
        [...byKind].map(([kind, work]) => [kind, work.lastCrawl(state, { pipeline, kind: stateKind(above, kind) })]),
      );
      return (request, key) => {
        const [of, routed] = picked({ pipeline, name: 'route' }, { pick, choices: lastCrawl, request });
        return of(routed, key);
      };
    },
  };
}

type Pick<Request> = (request: Request) => readonly [kind: string, request: Request];

function routedWork<Request, Topics extends TopicMap>(
  pick: Pick<Request>,
  processors: ReadonlyMap<string, Processor<Request, Topics>>,
  context: WorkContext<Request, Topics>,
): Work<Request> {
  const { pipeline } = context;
  const works = new Map([...processors].map(([kind, one]) => [kind, one.open({ ...context, kind: stateKind(context.kind, kind) })]));
  const all = [...works.values()];
  return {
    backlog: Math.max(...all.map(({ backlog }) => backlog)),
    run(job, request) {
      const [work, routed] = picked({ pipeline, name: 'route' }, { pick, choices: works, request });
      return work.run(job, routed);
    },
    flush() {
      for (const work of all) work.flush();
    },
    lastCrawl(request, key) {
      const [work, routed] = picked({ pipeline, name: 'route' }, { pick, choices: works, request });
      return work.lastCrawl(routed, key);
    },
  };
}

interface PickedOptions<Request, Choice> {
  readonly pick: Pick<Request>;
  readonly choices: ReadonlyMap<string, Choice>;
  readonly request: Request;
}

/** Returns the choice for the kind that `pick` returns, and the request that `pick` returns with the kind. Throws for an unknown kind. */
function picked<Request, Choice>(of: UserFunction, { pick, choices, request }: PickedOptions<Request, Choice>): readonly [Choice, Request] {
  const [kind, routed] = guard<readonly unknown[]>(of, list, () => pick(request)) as [unknown, Request];
  const chosen = typeof kind === 'string' ? choices.get(kind) : undefined;
  if (chosen === undefined)
    throw misuse(of, `returned the unknown kind ${textOf(kind)}`, `It must return one of ${[...choices.keys()].join(', ')}`);
  return [chosen, routed];
}

/** Returns the state prefix of a kind. Encoding removes slashes from the kind, so no prefix is the start of another. */
function stateKind(above: string, kind: string): string {
  return `${above}${encodeURIComponent(kind)}/`;
}
