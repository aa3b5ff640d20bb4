import { SourceError } from '@headgate/sources';
import { type CreditPool, type Delivery, PageStream } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import * as z from 'zod';
import { type DefinedPipeline, definePipeline } from './define-pipeline.ts';
import { topicNames } from './names.ts';
import { type Running, type StartOptions, start } from './start.ts';
import { topic } from './topic.ts';
import { topicSpecs } from './topics.ts';
import type { SourceControls, Work } from './worker.ts';

export interface Shelf {
  readonly shelf: string;
}

export interface ItemsPage {
  readonly shelf: string;
  readonly items: readonly string[];
  readonly next: number | undefined;
}

/** A source in memory: shelves of any name with items, two a page. */
export interface ShelvesApi extends SourceControls {
  /** `shelf 0`, `shelf 2`, …: the pages that were read. */
  readonly requested: string[];
  pages(shelf: string, from: number): PageStream<ItemsPage>;
  find(keys: readonly string[], options: { readonly credits: CreditPool; readonly signal: AbortSignal }): Promise<Delivery<string[]>>;
}

/** The error of a request that a stopped source does not send, or not again. */
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
    pages: (shelf, first) =>
      new PageStream<ItemsPage>(() => {
        let from: number | undefined = first;
        return {
          async read({ credits, signal }) {
            if (from === undefined) return undefined;
            const start = from;
            await request(`${shelf} ${start}`, signal);
            const names = Array.from({ length: Math.min(2, items - start) }, (_, i) => `${shelf}-${start + i}`);
            from = start + 2 < items ? start + 2 : undefined;
            return { value: { shelf, items: names, next: from }, credit: credits.reserve(names.length) };
          },
        };
      }),
    async find(keys, { credits, signal }) {
      await request(keys.join('+'), signal);
      return { value: [...keys], credit: credits.reserve(keys.length) };
    },
    gauges: () => ({ budgets: [], waiting: [] }),
    stop() {
      isStopped = true;
    },
    close: () => Promise.resolve(),
  };
}

export const shelvesTopics = {
  records: topic({ value: z.object({ item: z.string() }) }),
  log: topic({ value: z.unknown() }),
};

const options = z.strictObject({ shelves: z.array(z.string()).default([]) });

export type ShelvesPipeline = DefinedPipeline<typeof options>;

/** A pipeline of shelves whose requests are worked as `open` says. */
export function shelves(open: () => Work<Shelf, typeof shelvesTopics>, keyOf = ({ shelf }: Shelf): string => shelf): ShelvesPipeline {
  return definePipeline({
    name: 'shelves',
    options,
    request: z.strictObject({ shelf: z.string() }),
    topics: shelvesTopics,
    keyOf,
    listed: ({ shelves: listed }) => listed.map((shelf) => ({ shelf })),
    open,
  });
}

/** Puts requests into the topic as another client does, and works them to the end. */
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
