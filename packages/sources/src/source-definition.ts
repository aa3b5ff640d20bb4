import type { BudgetEvidence } from '@headgate/throttle';
import type { HttpResponse } from './http/response.ts';
import type { Budgets, Limit } from './source-options.ts';
import type { Verdict } from './verdict.ts';

/**
 * Defines a service: turns a query into an HTTP request, and a response into a verdict. A function that throws ends only its query. A
 * thrown `SourceError` is passed on. Any other error becomes the `cause` of a `SourceError` with `HEADGATE_DEFINITION`, or
 * `HEADGATE_CLASSIFY` if `classify` threw it.
 */
export interface SourceDefinition<Query, Value> {
  /** Name of the service, as errors and gauges show it. */
  readonly service: string;
  /** The budget named `rate`, unless the options set it: short for `budgets: { rate: limit }`. */
  readonly limit?: Limit;
  /**
   * Budgets by name, unless the options set one of that name. Each credential has its own budget, except for `shared` ones. Default: none;
   * then the options must set one.
   */
  readonly budgets?: Budgets;
  /** Returns the HTTP request of a query. */
  toRequest(query: Query): SourceRequest;
  /**
   * Follows redirects (301, 302, 303, 307, 308) that stay under `baseUrl`, at most five for one query. Each costs as much as the query's
   * first request. Other redirects end the request with `HEADGATE_REDIRECTED`, because credentials are sent nowhere else. Default: follows
   * none.
   */
  readonly follow?: 'same-origin';
  /** Returns the verdict on a response. Must be a pure, synchronous function. Never gets a redirect (301, 302, 303, 307 or 308). */
  classify(answer: HttpResponse, context: ClassifyContext<Query>): Verdict<Value>;
  /** Reads the state of the named budgets from a response, including a 429. Default: `budgetEvidence`, for the first budget. */
  evidence?(answer: HttpResponse, context: EvidenceContext<Query>): Readonly<Record<string, BudgetEvidence | undefined>>;
  /** Returns the user, ISBN or page of a query, for errors and displays: `@alpha`, an ISBN, an author. Default: `service`. */
  subject?(query: Query): string;
  /** Returns the maximum number of items in the response. Capacity for them is reserved before the request. Default 1. */
  items?(query: Query): number;
  /** Returns the number of items in the response's value. Default 1. */
  itemsOf?(value: Value): number;
  /**
   * Returns the cost of a query by budget name. A budget that isn't named costs 1; a cost of 0 doesn't use the budget. An unknown budget
   * name is an error.
   */
  weights?(query: Query): Readonly<Record<string, number>>;
  /**
   * Returns the names of the credentials that may send a query, such as that of the shop whose orders it requests. Must be a pure function.
   * A query whose credentials are no longer used, or that names an unknown one, ends with `HEADGATE_NO_CREDENTIAL`. Default: each
   * credential may send any query.
   */
  credentialsOf?(query: Query): readonly string[];
}

/** The circumstances of a response, for `SourceDefinition.evidence`. */
export interface EvidenceContext<Query> {
  /** The query that was answered. */
  readonly query: Query;
  /** Name of the credential that sent the request. */
  readonly credential: string;
  /** Epoch ms, by the source's clock, when the response arrived. */
  readonly epochMs: number;
}

/** The circumstances of a response, for `SourceDefinition.classify`. */
export interface ClassifyContext<Query> extends EvidenceContext<Query> {
  /** The definition's `service`. */
  readonly service: string;
  /** The query's user, ISBN or page, as the definition's `subject` names it. */
  readonly subject: string;
  /** Removes the credential's secrets from a text, even if they are encoded. Apply it to quoted text of the service. */
  readonly redact: (text: string) => string;
  /** True if the service refused this credential because of a rate limit during the last minute. */
  readonly recentlyRefused: boolean;
}

/** A request to the service: under the base address, or to an address from a response. It may be sent more than once. */
export type SourceRequest = PathRequest | UrlRequest;

/** The fields that `PathRequest` and `UrlRequest` share. */
export interface AnyRequest {
  /** HTTP method. Default `GET`. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Headers in addition to those of the source and the signer, such as `accept`. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Text of the body, sent as UTF-8. Default: no body. */
  readonly body?: string;
}

/** A request under the base address. */
export interface PathRequest extends AnyRequest {
  /** Path, percent-encoded and with a leading slash. It is appended unchanged to the base address. */
  readonly path: string;
  /**
   * Parameters, not yet encoded: Headgate percent-encodes each character that isn't unreserved in RFC 3986. A list repeats the parameter;
   * undefined omits it.
   */
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Absent: distinguishes the two kinds of request. */
  readonly url?: never;
}

/** A request to an address from a response. */
export interface UrlRequest extends AnyRequest {
  /**
   * The whole address as in the response, for example in a Link header (RFC 8288): absolute, or with a leading slash. An address outside of
   * `baseUrl` ends the request with `HEADGATE_FOREIGN_ADDRESS`, because credentials are sent nowhere else.
   */
  readonly url: string;
  /** Absent: distinguishes the two kinds of request. */
  readonly path?: never;
  /** Absent: `url` contains the query. */
  readonly query?: never;
}
