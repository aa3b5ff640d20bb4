import type { CreditPool, Delivery, Json, PageStream } from '@headgate/throttle';
import type { BudgetSlots } from './budget-slots.ts';
import type { Paging, WalkedPage, WalkOptions } from './paging.ts';

/** Sends queries to a service as its budgets permit. */
export interface Source<Query, Value> extends AsyncDisposable {
  /**
   * Makes a request when budget permits and `credits` has capacity, retries it if that may help, and resolves to the value with the credit
   * that it holds. Rejects with a `SourceError`, or with `signal.reason` when aborted. A query that rejects has returned all credit.
   */
  query(query: Query, options: QueryOptions): Promise<Delivery<Value>>;
  /**
   * Walks from page to page; each subscription, iteration or drain is a separate walk. A walk that fails ends with a `SourceError`:
   * `HEADGATE_CURSOR_LOOP` if a cursor repeats, `HEADGATE_EMPTY_PAGES`, `HEADGATE_PAGE_LIMIT`, `HEADGATE_DEFINITION` for an error in
   * `paging`, or the error of a request.
   */
  pages<Cursor extends NonNullable<Json>>(
    paging: Paging<Query, Value, Cursor>,
    options?: WalkOptions<Cursor>,
  ): PageStream<WalkedPage<Value, Cursor>>;
  /**
   * Returns the names of the credentials that may send a query, each once. Throws the `SourceError` with which `query` would reject. Absent
   * if each credential may send any query.
   */
  readonly credentialsOf?: (query: Query) => readonly string[];
  /** Returns the state of each budget and each unfinished query, and the outage if the service is down. */
  gauges(): SourceGauges;
  /** Returns when the slots of each budget become free, for forecasts. */
  slots(): readonly BudgetSlots[];
  /**
   * Starts no further request. Queries that wait for a permit or a retry, and later queries, reject with `HEADGATE_STOPPED`. Requests in
   * flight continue to their end.
   */
  stop(): void;
  /** Aborts the requests in flight and closes the connections. Later queries reject with `HEADGATE_CLOSED`. */
  close(): Promise<void>;
}

/** Options of `Source.query`. */
export interface QueryOptions {
  /** Pool of capacity downstream, from which the maximum number of items in the response is reserved before the request. */
  readonly credits: CreditPool;
  /** An abort ends the query, in the queue or in flight. The query rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Identifies the walk of the query. All queries of a walk share its turns. Default: each query is a separate walk. */
  readonly walk?: object;
}

/** The state of a source at one moment: budgets, unfinished queries, and an outage. */
export interface SourceGauges {
  /** A gauge for each budget of each current credential, then one for each shared budget. */
  readonly budgets: readonly SourceBudgetGauge[];
  /** The unfinished queries: first the queued ones in the order of their turns, then those that have a permit or wait for a retry. */
  readonly queries: readonly QueryStatus[];
  /** The current outage. Set only while the service is down and the option `waitOutOutages` is true. */
  readonly outage?: SourceOutage;
}

/** An outage of the service: one request at a time probes the service, and the others wait. */
export interface SourceOutage {
  /** Epoch ms at which the outage began. */
  readonly since: number;
  /** Number of failed attempts since the outage began. */
  readonly attempts: number;
  /** Description of the last error. */
  readonly reason: string;
  /** Epoch ms of the next attempt; absent while a request is being tried, or waits for a budget. */
  readonly retryAt?: number;
  /** Number of requests that wait for the end of the outage. */
  readonly waiting: number;
}

/** One unfinished query, and its current state. */
export type QueryStatus = QueryState & {
  /** The query's `walk`, or an object that stands for this query alone. */
  readonly id: object;
  /** The query's user, ISBN or page, as the definition's `subject` names it. */
  readonly subject: string;
  /** The query's cost in each budget, by the budget's name. Default 1 each. */
  readonly weights?: Readonly<Record<string, number>>;
  /** Names of the credentials that may send the query. Default: any. */
  readonly credentials?: readonly string[];
};

/** The state of a query. Times are epoch ms; `until` is absent if the end is unknown. */
export type QueryState =
  /** Waits for a budget, for capacity downstream, or, with `concurrency`, for another query of its credentials to end. */
  | { readonly state: 'queued'; readonly for: 'budget' | 'downstream' | 'concurrency'; readonly until?: number }
  /** Waits because the service is down. */
  | { readonly state: 'service-down'; readonly until?: number }
  /** Has had a permit of `credential` since `since`, and no result yet. */
  | { readonly state: 'requesting'; readonly credential: string; readonly since: number }
  /** The last attempt failed with `reason`. At `until`, or when an outage ends, the query asks for its next permit. */
  | { readonly state: 'retrying'; readonly until: number; readonly reason: string };

/** The state of one budget, which belongs to one credential or to all of them. */
export interface SourceBudgetGauge {
  /** Name of the credential that the budget belongs to; absent for a limit over all credentials. */
  readonly credential?: string;
  /** Name of the budget. */
  readonly budget: string;
  /** Maximum requests, or units of weight, per window. */
  readonly limit: number;
  /** Length of the window in ms; for a quota, 24 hours or 31 days. */
  readonly windowMs: number;
  /** Weight in use now, by our own requests and, as far as responses show it, by other clients. */
  readonly used: number;
  /** Epoch ms at which the next request may start; undefined while that depends on requests in flight. */
  readonly freeAt?: number;
  /** Name of the unit that the budget counts. Default: requests. */
  readonly unit?: string;
  /** Epoch ms of a quota's next reset. */
  readonly resetsAt?: number;
}
