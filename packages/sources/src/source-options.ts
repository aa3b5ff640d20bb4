import type { RequestAllowance } from './request-allowance.ts';
import type { Signer } from '@headgate/auth';
import type { Clock, Journal } from '@headgate/throttle';
import type { Dispatcher } from 'undici';

/** Options of every source. */
export interface SourceOptions {
  /** Base address of the service: http or https, without query, fragment, user or password. A path is kept. */
  readonly baseUrl: string;
  /** One or more credentials, each with its own name. */
  readonly credentials: readonly Credential[];
  /** The budget named `rate`: short for `budgets: { rate: limit }`. Default: the limit in the service's definition. */
  readonly limit?: Limit | undefined;
  /**
   * Budgets by name. Each credential has its own, except for `shared` ones. They replace the definition's budgets of the same names, or add
   * to them.
   */
  readonly budgets?: Budgets | undefined;
  /** Maximum concurrent requests of each credential: a whole number from 1. Default: as many as its budgets permit. */
  readonly concurrency?: number | undefined;
  /** Maximum time for connecting, sending and reading the response of an attempt, in ms. Signing may take as long again. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum bytes of a response's body, both as received and as decoded. Default 16 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * Time for which a failing request is retried, in ms. Waiting for budget or capacity doesn't count. If the service requests a longer wait
   * than is left, the request usually ends at once. Default 600,000.
   */
  readonly retryForMs?: number | undefined;
  /**
   * Waits while the service is down: a circuit breaker lets one request at a time probe the service, and `retryForMs` counts only the time
   * in which the service is up. So a request may take as long as the outage; `signal` and `stop` end this wait. A service that responds is
   * up: a request whose response can't be used is given up after `retryForMs`, unless all requests get the same one. Default false: each
   * request retries separately, and `retryForMs` counts outages, too.
   */
  readonly waitOutOutages?: boolean | undefined;
  /**
   * Ends the source after this many requests in a row that failed alike, with the same code and status in a response. Later requests reject
   * with `HEADGATE_FAILURES_IN_A_ROW`, and nothing more is sent. A `not-found` counts only before the first success. Default: never.
   */
  readonly stopAfterFailures?: number | undefined;
  /** Limits the total number of requests of all sources that share this allowance. Default: no limit. */
  readonly allowance?: RequestAllowance | undefined;
  /** Maximum delay, in ms, between sending a request and the service counting it. Default 5,000. */
  readonly maxDelayMs?: number | undefined;
  /** Value of the User-Agent header. Default `headgate/<version>`. */
  readonly userAgent?: string | undefined;
  /** Address of a proxy, or '' for none. Default: from HTTPS_PROXY, HTTP_PROXY and NO_PROXY in `env`. */
  readonly proxy?: string | undefined;
  /** PEM text of a certificate authority trusted in addition to the usual ones. */
  readonly ca?: string | undefined;
  /**
   * A dispatcher of undici that sends the requests instead of the source's own connections, such as a `MockAgent`. Its own settings apply
   * for proxies, certificate authorities and header limits. The source doesn't close it. Default: none.
   */
  readonly dispatcher?: Dispatcher | undefined;
  /**
   * A `fetch` that sends the requests, such as one that MSW intercepts: `(...request) => fetch(...request)`. A request counts as sent when
   * `fetch` is called, because `fetch` doesn't report when the first byte goes out. Default: none.
   */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Environment, of which only the proxy variables are read. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Clock for budgets, timeouts and retries. Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Returns a random number in [0, 1), which spreads retries over time. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /**
   * Journal that stores each permit before its request is sent, so that a restart continues the same windows. Several sources can have the
   * same journal if their credentials have different names, and only one of them has shared limits. They keep their entries until they are
   * closed. Default: none.
   */
  readonly journal?: Journal | undefined;
  /**
   * Called after each attempt that has a result. An error that it throws doesn't affect the request; the first one is emitted as a process
   * warning.
   */
  readonly onAttempt?: ((event: AttemptEvent) => void) | undefined;
}

/** A signer with its name and budgets. */
export interface Credential {
  /** Name of the credential in errors, logs and gauges. */
  readonly name: string;
  /** Signs each attempt. */
  readonly signer: Signer;
  /** Budgets that replace the source's budgets of the same names for this credential. Shared budgets can't be replaced. */
  readonly budgets?: Budgets;
}

/** Budgets by name: a request is charged to each of them. */
export type Budgets = Readonly<Record<string, Limit | Quota>>;

/** A limit on the requests that may start in any window of a fixed length. */
export interface Limit {
  /** Maximum requests, or units of weight, in any window: a whole number from 1. */
  readonly requests: number;
  /** Length of the window, in ms. */
  readonly windowMs: number;
  /** Name of the unit that the budget counts, for displays. Default: requests. */
  readonly unit?: string;
  /** True for one limit over all credentials, such as that of an IP address or an application. Default: each credential has its own. */
  readonly shared?: boolean;
}

/** A limit on the requests that may start from one reset by the service to the next. */
export interface Quota {
  /** Maximum requests, or units of weight, from one reset to the next: a whole number from 1. */
  readonly requests: number;
  /** The period from one reset to the next. */
  readonly per: 'day' | 'month';
  /** Time of the reset, `HH:MM`. Default `00:00`. */
  readonly resetsAt?: string | undefined;
  /** Day of a month's reset, 1 to 31; in a shorter month its last day. Default 1. */
  readonly resetsOn?: number | undefined;
  /** IANA name of the time zone of `resetsAt` and `resetsOn`. Default `UTC`. */
  readonly zone?: string | undefined;
  /** Name of the unit that the budget counts, for displays. Default: requests. */
  readonly unit?: string | undefined;
  /** True for one limit over all credentials. Default: each credential has its own. */
  readonly shared?: boolean | undefined;
}

/** One attempt of a request, reported after its end. */
export interface AttemptEvent {
  /** The definition's `service`. */
  readonly service: string;
  /** Name of the credential that the attempt used. */
  readonly credential: string;
  /** The query's user, ISBN or page, as the definition's `subject` names it. */
  readonly subject: string;
  /**
   * Result of the attempt. `transient`: an error that may be temporary, or a followed redirect. `gone`: not found. `ambiguous`: not found or
   * rate-limited, which the response doesn't tell.
   */
  readonly outcome: 'ok' | 'rate-limited' | 'transient' | 'unauthorized' | 'gone' | 'ambiguous' | 'fatal';
  /** The status of the response, if one came. */
  readonly status?: number;
  /** Description of the outcome; absent for `ok`. */
  readonly reason?: string;
  /** Expected time until the next attempt, in ms; absent if the request isn't retried. */
  readonly retryInMs?: number;
  /** Time from the permit to the result, in ms: signing, connecting, sending and reading the response. */
  readonly durationMs: number;
  /** The query's walk, if the query named one. */
  readonly walk?: object;
  /** Set if responses state another limit than the configured one: once for each budget. */
  readonly limitMismatch?: LimitMismatch;
}

/** A difference between a configured limit and the limit that the service's responses state. */
export interface LimitMismatch {
  /** Name of the budget. */
  readonly budget: string;
  /** The configured limit; `windowMs` in ms. */
  readonly configured: { readonly requests: number; readonly windowMs: number };
  /** The service's number of requests in a window. */
  readonly stated: { readonly requests: number };
}
