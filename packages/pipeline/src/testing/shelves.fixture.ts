import { type Paging, SourceError } from '@headgate/sources';
import type { CreditPool, Delivery } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import * as z from 'zod';
import type { DefinedPipeline } from '../definition/pipeline.ts';
import { definePipeline } from '../definition/define-pipeline.ts';
import { topicNames } from '../topics/names.ts';
import { type Running, type StartOptions, start } from '../run/start.ts';
import { topic } from '../topics/topic.ts';
import { topicSpecs } from '../topics/topics.ts';
import type { Processor } from '../definition/processor.ts';
import type { WalkedSource } from '../jobs/walk-definition.ts';

export interface Shelf {
  readonly shelf: string;
}

export interface ItemsPage {
  readonly shelf: string;
  readonly items: readonly string[];
  readonly next: number | undefined;
}

export interface ShelfQuery {
  readonly shelf: string;
  readonly from: number;
}

/** A source in memory with shelves of any name. Each shelf has the same number of items, two per page. */
export interface ShelvesApi extends WalkedSource<ShelfQuery, ItemsPage> {
  /** The pages that were requested, such as `shelf 0` and `shelf 2`, and the keys given to `find`, joined by `+`. */
  readonly requested: string[];
  find(keys: readonly string[], options: { readonly credits: CreditPool; readonly signal: AbortSignal }): Promise<Delivery<string[]>>;
}

/** The error of a query that a stopped source doesn't send or retry. */
export function stopped(subject: string): SourceError {
  return new SourceError({ code: 'HEADGATE_STOPPED', message: 'stopped', retryable: true, service: 'shelves', subject });
}

export function shelvesApi({
  items = 5,
  onPage = () => undefined,
}: { readonly items?: number; readonly onPage?: (page: string) => unknown } = {}): ShelvesApi {
  const requested: string[] = [];
  let isStopped = false;
  const request = async (what: string, signal: AbortSignal): Promise<void> => {
    if (isStopped) throw stopped(what);
    requested.push(what);
    await onPage(what);
    signal.throwIfAborted();
  };
  return {
    requested,
    async query({ shelf, from }, { credits, signal = new AbortController().signal }) {
      await request(`${shelf} ${from}`, signal);
      const names = Array.from({ length: Math.min(2, items - from) }, (_, i) => `${shelf}-${from + i}`);
      const next = from + 2 < items ? from + 2 : undefined;
      return { value: { shelf, items: names, next }, credit: credits.reserve(names.length) };
    },
    async find(keys, { credits, signal }) {
      await request(keys.join('+'), signal);
      return { value: [...keys], credit: credits.reserve(keys.length) };
    },
    gauges: () => ({ budgets: [], queries: [] }),
    slots: () => [],
    stop() {
      isStopped = true;
    },
    close: () => Promise.resolve(),
  };
}

export function shelfPaging({ shelf }: Shelf): Paging<ShelfQuery, ItemsPage, number> {
  return { first: 0, query: (from) => ({ shelf, from }), next: ({ next }) => (next === undefined ? 'last' : { cursor: next }) };
}

export const shelvesTopics = {
  records: topic({ value: z.object({ item: z.string() }) }),
  log: topic({ value: z.unknown() }),
};

const options = z.strictObject({ shelves: z.array(z.string()).default([]) });

export type ShelvesPipeline = DefinedPipeline<typeof options>;

/** A pipeline of shelves. `open` returns the processor of its requests. `keyOf` and `every`: as in a definition. */
export function shelves(
  open: () => Processor<Shelf, typeof shelvesTopics>,
  keyOf = ({ shelf }: Shelf): string => shelf,
  every?: (request: Shelf) => number | undefined,
): ShelvesPipeline {
  return definePipeline({
    name: 'shelves',
    options,
    request: z.strictObject({ shelf: z.string() }),
    topics: shelvesTopics,
    keyOf,
    listed: ({ shelves: listed }) => listed.map((shelf) => ({ shelf })),
    ...(every !== undefined && { every }),
    open,
  });
}

/** Appends requests without `enqueue`, as another client does, and runs the pipeline until the run ends. */
export async function workedOff(
  log: TopicLog,
  pipeline: ShelvesPipeline,
  requests: readonly string[],
  more: Partial<StartOptions> = {},
): Promise<Awaited<Running['done']>> {
  const one = pipeline({});
  await log.createTopics(topicSpecs([one], { lanes: 1, names: topicNames() }));
  await log.append(requests.map((shelf) => ({ topic: 'shelves.requests', key: shelf, value: JSON.stringify({ shelf }) })));
  await using running = await start({ log, pipelines: [one], ...more });
  return await running.done;
}

export async function valuesOf<Value>(log: TopicLog, name: string): Promise<Value[]> {
  const values: Value[] = [];
  for await (const { value } of log.read({ topic: name })) values.push(JSON.parse(value ?? 'null') as Value);
  return values;
}
