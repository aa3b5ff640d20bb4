import type { Paging, QueryOptions } from '@headgate/sources';
import type { Clock, Delivery, Json, Transform } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import type { PendingRecord, RecordMakers, TopicMap, TopicNames } from '../definition/topic.ts';
import type { SourceControls } from '../engine/processor.ts';
import type { Reason } from '../view/events.ts';

/** A source of pages: the result of `defineSource`, or any object with its controls and its `query`. */
export interface WalkedSource<Query, Page> extends SourceControls {
  /** Requests a page under credit, as `Source.query` of `@headgate/sources`. */
  query(query: Query, options: QueryOptions): Promise<Delivery<Page>>;
  /** Names of the credentials that may send a query. Default: any. */
  readonly credentialsOf?: (query: Query) => readonly string[];
}

/** Options of {@link walk}. */
export interface WalkDefinition<Query, Page, Cursor extends NonNullable<Json>, Request, Value, Topics extends TopicMap> {
  /** The source to walk. The lane closes it. */
  readonly source: WalkedSource<Query, Page>;
  /** How a request's walk gets from page to page. Called whenever the walk begins or continues. */
  paging(request: Request, start: { readonly carried: Json | undefined }): Paging<Query, Page, Cursor>;
  /** Transforms between pages and records. Their state is stored in the checkpoint automatically. */
  readonly through?: readonly Transform<Page, Page>[] | readonly [Transform<Page, Value>];
  /** The records of a page, written in one transaction with its checkpoint. */
  records(value: Value, at: WalkPosition<Request, Topics>): Iterable<PendingRecord>;
  /**
   * Makes the next walk of a key incremental. Called for each page with the previous value, first with the value of the key's last complete
   * walk. Its last value is in the transaction of the walk's last page, and `paging` of the next walk gets it as `carried`, for 90 days.
   * For example, it is the newest modification time. A walk that fails carries nothing over. Walks of one key take turns.
   */
  carry?(page: Page, carried: Json | undefined): Json | undefined;
  /** Items of a page, for counts and displays. Default: its records. */
  items?(value: Value): number;
  /** Name of the credential of a page's request, for displays. */
  credentialOf?(page: Page): string;
  /** Records of a walk's change of state: in its first transaction, its last one, and that of its dead letter. */
  lifecycle?(change: WalkChange, at: Omit<WalkPosition<Request, Topics>, 'page' | 'carried' | 'warn' | 'refuse'>): Iterable<PendingRecord>;
  /** How to make a page's records smaller, for the dead letter of one that its topic doesn't accept: `take smaller pages`. */
  readonly smallerBy?: string;
  /** True for a request of all pages. Default: every request. `plan` and `after` don't compare a walk of some pages with others. */
  whole?(request: Request): boolean;
  /** Work after a complete walk, such as comparing it with the previous one. */
  readonly after?: After<NoInfer<Topics>>;
  /** Name of that work, for notices: `the comparison of its last two crawls`. Default `the work after its crawl`. */
  readonly afterName?: string;
}

/** The page from which records are created, and its walk. */
export interface WalkPosition<Request, Topics extends TopicMap> {
  /** The request, as the definition's schema gives it. */
  readonly request: Request;
  /** Key of the request. */
  readonly key: string;
  /** Unique on the log, and the same however often the walk is resumed: `<requests topic>-<partition>-<offset>`. */
  readonly id: string;
  /** 1-based. */
  readonly page: number;
  /** The value that the last complete walk of the key carried, as `paging` got it: the same for all pages of this walk. */
  readonly carried: Json | undefined;
  /** Makes records: `topics.records({ key, value })`. */
  readonly topics: RecordMakers<Topics>;
  /** Emits a warning about the page once it is durable. */
  readonly warn: (message: string) => void;
  /** Creates a dead letter of a part of the page that can't be processed, in the page's transaction: the walk continues. */
  readonly refuse: (part: RefusedPart) => void;
}

/** A part of a page that can't be processed. */
export interface RefusedPart {
  /** Unique within its request, and the same when the page is requested again. */
  readonly id: string;
  /** JSON, as the service returned it. */
  readonly record: unknown;
  /** Its code and message appear in the dead letter. */
  readonly error: unknown;
}

/** A walk's change of state, for `WalkDefinition.lifecycle`. */
export type WalkChange = {
  readonly state: 'started' | 'completed' | 'failed';
  /** Pages written so far. */
  readonly pages: number;
  readonly items: number;
  /** The reason of a failure. */
  readonly reason?: Reason;
};

/**
 * Work after a complete walk. It may read the log back, and its records are written in chunks, each in a transaction. After a crash it is
 * called again, and durable records are skipped by counting, so it must return the same records in the same order. If it throws, it becomes
 * a dead letter, and is called again when the lane is next opened. If the error's code is `HEADGATE_STATE_LOST`, because records are gone,
 * it is dropped with a warning. A lane runs one at a time. `previous` is the key's last complete walk before this one, if its records are
 * known.
 */
export type After<Topics extends TopicMap> = (
  crawl: Crawl,
  previous: Crawl | undefined,
  io: AfterIo<Topics>,
) => AsyncIterable<PendingRecord>;

/** A complete walk that has finished. */
export interface Crawl {
  /** Key of its request. */
  readonly key: string;
  /** `<requests topic>-<partition>-<offset>`. */
  readonly id: string;
  /** Pages written, including those before a restart. */
  readonly pages: number;
  /** Items of its pages, as `WalkDefinition.items` counts them. */
  readonly items: number;
  /** By the name of a topic within the pipeline: no record of the walk is before this offset of the lane's partition. */
  readonly offsets: Readonly<Record<string, number>>;
}

/** Resources of {@link After}, for the lane that the crawl belongs to. */
export interface AfterIo<Topics extends TopicMap> {
  /** Reads the crawls back: `readBytes` with `partition`, from an offset of `Crawl.offsets`. */
  readonly log: TopicLog;
  /** Returns the log's name of a topic: `names('issues.records')`. */
  readonly names: TopicNames;
  /** The lane's partition in every topic of the pipeline that has one per lane. */
  readonly partition: number;
  /** Makes records: `topics.records({ key, value })`. */
  readonly topics: RecordMakers<Topics>;
  /** The run's clock. */
  readonly clock: Clock;
  /** Aborts when the lane is released. Started work is called again when the lane is next opened. */
  readonly signal: AbortSignal;
  /** Emits a notice of level `warn`, at once, with the crawl's key before it. */
  readonly warn: (message: string) => void;
}
