import { type JournalRecord, type LogView, type PipelineLeft, leftToDo as leftOf, topicNames } from '@headgate/pipeline';
import type { Clock } from '@headgate/throttle';
import type { Config } from '../config/config.ts';
import { checkpointOf } from '../pipelines/followers.ts';
import { FIRST_CURSOR } from '../records/requests.ts';

export interface LeftToDoOptions {
  readonly log: LogView;
  readonly config: Config;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What a run would find to do. */
export interface LeftToDo {
  readonly crawls: readonly CrawlLeft[];
  readonly isbns: number;
  readonly authors: number;
  /** Comparisons of crawls that were begun: they need no request. */
  readonly comparisons: number;
}

export interface CrawlLeft {
  readonly user: string;
  /** The next page, 1-based: above 1 a crawl goes on there. */
  readonly page: number;
  readonly cursor: string;
  /** Its request's partition: only that lane's credentials ask for it. */
  readonly lane: number;
  /** Pages of the user's last complete crawl, where there was one and this one began at the start, too. */
  readonly pagesLastTime?: number;
}

/** Reads what is unfinished, and how budgets stood, without taking a lane: it may be looked at while a run goes on. */
export async function leftToDo({ log, config, clock, env }: LeftToDoOptions): Promise<{ readonly left: LeftToDo } & Journals> {
  const { group, lanes } = config.topics;
  const found = await leftOf({ log, pipelines: config.pipelines, group, lanes, names: topicNames(config.topics), clock, env });
  const of = (name: string): PipelineLeft | undefined => found.find(({ pipeline }) => pipeline === name);
  const [followers, books] = [of('followers'), of('books')];
  const crawls = (followers?.walks ?? []).map(({ key, request, page, from, lane, pages }) => {
    const { cursor: first = FIRST_CURSOR } = JSON.parse(request) as { cursor?: string };
    const { cursor = first } = checkpointOf(from);
    return {
      user: key,
      page,
      cursor,
      lane,
      ...(pages !== undefined && { pagesLastTime: pages }),
    };
  });
  return {
    left: { crawls, isbns: books?.keys ?? 0, authors: books?.walks.length ?? 0, comparisons: followers?.after ?? 0 },
    followers: followers?.journals ?? [],
    books: books?.journals ?? [],
  };
}

/** How budgets stood in the lanes of each service. */
export interface Journals {
  readonly followers: readonly JournalRecord[];
  readonly books: readonly JournalRecord[];
}
