import type { Paging, QueryOptions } from '@headgate/sources';
import type { Clock, Delivery, Json, Transform } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import type { PendingRecord, RecordMakers, TopicMap, TopicNames } from '../topics/topic.ts';
import type { SourceControls } from '../definition/processor.ts';
import type { Reason } from '../events/events.ts';

/** A source of pages: the result of `defineSource`, or any object with a `query` and the members of `SourceControls`. */
export interface WalkedSource<Query, Page> extends SourceControls {
  /** Requests a page, like `Source.query` of `@headgate/sources`. */
  query(query: Query, options: QueryOptions): Promise<Delivery<Page>>;
  /** Returns the names of the credentials that may send a query. Default: any credential may. */
  readonly credentialsOf?: (query: Query) => readonly string[];
}

/** Options of {@link walk}. */
export interface WalkDefinition<Query, Page, Cursor extends NonNullable<Json>, Request, Value, Topics extends TopicMap> {
  /** The source to walk. The lane closes it. */
  readonly source: WalkedSource<Query, Page>;
  /** Returns how a request's walk gets from page to page. `carried`: see `carry`. `held`: the values of `RefusedPart.held` of the key. */
  paging(request: Request, start: { readonly carried: Json | undefined; readonly held: readonly Json[] }): Paging<Query, Page, Cursor>;
  /** Transforms between pages and records. Their state is stored in the checkpoint automatically. */
  readonly through?: readonly Transform<Page, Page>[] | readonly [Transform<Page, Value>];
  /** Returns the records of a page, or of a result of `through`. They are written in one transaction with the page's checkpoint. */
  records(value: Value, at: WalkPosition<Request, Topics>): Iterable<PendingRecord>;
  /**
   * Makes the next walk of a key incremental, for example by the newest modification time. Called for each page with the value of the
   * previous page; for the first page, with the last value of the key's last complete walk. The last value is written with the walk's last
   * page, and for 90 days `paging` of the key's next walk gets it as `carried`. If a walk fails, the key's next walk, or the replay of the
   * failed one, continues it at the page that failed. If the service refuses that page again, the next walk starts over. Walks of one key
   * run one after another.
   */
  carry?(page: Page, carried: Json | undefined, walk: CarryingWalk<Request>): Json | undefined;
  /** Returns the number of items of a page, or of a result of `through`. Default: the number of its records, without requests. */
  items?(value: Value): number;
  /** Returns the name of the credential that sent a page's request, for displays. */
  credentialOf?(page: Page): string;
  /**
   * Returns records about a walk's change of state. They are written in the walk's first or last transaction, or in that of its dead
   * letter.
   */
  lifecycle?(
    change: WalkChange,
    at: Omit<WalkPosition<Request, Topics>, 'page' | 'carried' | 'carrying' | 'warn' | 'refuse' | 'isHeld'>,
  ): Iterable<PendingRecord>;
  /**
   * Returns true if a request is for all pages. Default: every request is. Other walks don't count as the key's last walk: `after` isn't
   * called, and nothing is carried over.
   */
  whole?(request: Request): boolean;
  /** Work after a complete walk, such as comparing it with the previous one. */
  readonly after?: After<NoInfer<Topics>>;
  /** Name of the `after` work in messages, such as `the comparison of its last two crawls`. Default: `the work after its crawl`. */
  readonly afterName?: string;
}

/** The values with which a walk begins. */
export interface WalkBeginning {
  /** The value that the last complete walk of the key carried: see `WalkDefinition.carry`. */
  readonly carried: Json | undefined;
  /** The values of the parts that earlier walks of the key couldn't write: see `RefusedPart.held`. */
  readonly held: readonly Json[];
}

/** The page whose records are created, and its walk. */
export interface WalkPosition<Request, Topics extends TopicMap> {
  /** The request, as parsed by the definition's schema. */
  readonly request: Request;
  /** Key of the request. */
  readonly key: string;
  /** ID of the request, unique on the log and the same after a restart: `<requests topic>-<partition>-<offset>`. */
  readonly id: string;
  /** Number of the page, 1-based. */
  readonly page: number;
  /** The value that the last complete walk of the key carried, as `paging` got it: the same for all pages of this walk. */
  readonly carried: Json | undefined;
  /** The value of `carry` after the previous page of this walk. Before the first page, it is `carried`. */
  readonly carrying: Json | undefined;
  /** Creates records: `topics.records({ key, value })`. */
  readonly topics: RecordMakers<Topics>;
  /** Emits a warning about the page, after the page is durable. */
  readonly warn: (message: string) => void;
  /**
   * Creates a dead letter for a part of the page that can't be processed. It is written in the page's transaction, and the walk continues.
   */
  readonly refuse: (part: RefusedPart) => void;
  /** Returns true if the part with this ID is held: see `RefusedPart.held`. */
  readonly isHeld: (id: string) => boolean;
}

/** The walk whose value `carry` computes. */
export interface CarryingWalk<Request> {
  /** The request, as parsed by the definition's schema. */
  readonly request: Request;
  /** Key of the walk's request. */
  readonly key: string;
  /** The value that the last complete walk of the key carried. */
  readonly before: Json | undefined;
  /** The values of the parts that are held after this page. */
  readonly held: readonly Json[];
}

/** A part of a page that can't be processed. */
export interface RefusedPart {
  /** ID of the part. Unique within its request, and the same when the page is requested again. */
  readonly id: string;
  /** The part as a JSON value, as the service returned it. */
  readonly record: unknown;
  /**
   * Set for a part that the next walk of the key requests again, because `paging` gets this value. The part is held under its ID until a
   * complete walk doesn't refuse it any more, or its dead letter is dismissed. Its dead letter is open as long, and it gets no second one.
   */
  readonly held?: Json;
  /** Why the part can't be processed. The error's code and message appear in the dead letter. */
  readonly error: unknown;
}

/** A walk's change of state, for `WalkDefinition.lifecycle`. */
export type WalkChange = {
  readonly state: 'started' | 'completed' | 'failed';
  /** Number of pages written so far. */
  readonly pages: number;
  readonly items: number;
  /** Messages of `warn` about the last page. Set only if `state` is `completed`. */
  readonly warnings?: readonly string[];
  /** Why the walk failed. Set only if `state` is `failed`. */
  readonly reason?: Reason;
};

/**
 * Work after a complete walk. It can read the log back. Its records are written in chunks, one transaction each. After a stop or a crash,
 * the work is called again, and the records that are already durable are skipped by counting, so it must return the same records in the
 * same order. If the work throws, Headgate writes a dead letter, and calls the work again when the lane is next opened. If the error has
 * the code `HEADGATE_STATE_LOST`, because records are gone, the work is dropped with a warning. `previous`: the key's last complete walk
 * before this one, if its offsets are known.
 */
export type After<Topics extends TopicMap> = (
  crawl: Crawl,
  previous: Crawl | undefined,
  io: AfterIo<Topics>,
) => AsyncIterable<PendingRecord>;

/** A complete walk. */
export interface Crawl {
  /** Key of the walk's request. */
  readonly key: string;
  /** ID of the walk's request: `<requests topic>-<partition>-<offset>`. */
  readonly id: string;
  /** Number of written pages, including those before a restart. */
  readonly pages: number;
  /** Number of items on these pages, as `WalkDefinition.items` counts them. */
  readonly items: number;
  /** Offsets in the lane's partition, by the topic's name within the pipeline. All records of the walk are at or after them. */
  readonly offsets: Readonly<Record<string, number>>;
}

/** Resources that {@link After} can use, for the lane that the crawl belongs to. */
export interface AfterIo<Topics extends TopicMap> {
  /** The log. To read a crawl back, call `readBytes` with `partition`, from an offset of `Crawl.offsets`. */
  readonly log: TopicLog;
  /** Returns the log's name of a topic: `names('issues.records')`. */
  readonly names: TopicNames;
  /** The lane's partition in the topics of the pipeline that have a partition for each lane. */
  readonly partition: number;
  /** Creates records: `topics.records({ key, value })`. */
  readonly topics: RecordMakers<Topics>;
  /** The run's clock. */
  readonly clock: Clock;
  /** Aborts when the lane stops. Unfinished work is called again when the lane is next opened. */
  readonly signal: AbortSignal;
  /** Emits a notice of level `warn` immediately, with the crawl's key before the message. */
  readonly warn: (message: string) => void;
}
