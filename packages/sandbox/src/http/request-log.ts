import type { FaultName } from './fault.ts';

/** One request that a sandbox has read, without secrets. */
export interface ServedRequest {
  /** Number of the request: 1 for the first one that this sandbox read. */
  readonly number: number;
  /** Epoch milliseconds, by the sandbox's clock, at which the service counted or refused the request. */
  readonly at: number;
  /** HTTP method, in capitals. */
  readonly method: string;
  /** The path as received, percent-encoded. */
  readonly path: string;
  /** The query's parameters: the last value of each name, with possible secrets replaced. */
  readonly query: Readonly<Record<string, string>>;
  /** The name of the credential or key that was recognized. */
  readonly credential?: string;
  /** The response's status; 0 if a fault left the request without one. */
  readonly status: number;
  /** The fault applied to the request. */
  readonly fault?: FaultName;
  /** Followers: the requested cursor, `-1` if absent. */
  readonly cursor?: string;
  /** Followers: the requested screen name or user ID, unchanged. */
  readonly user?: string;
  /** Books: the requested ISBNs, unchanged. */
  readonly isbns?: readonly string[];
  /** Books: the requested author, decoded. */
  readonly author?: string;
}

export interface RequestLog {
  add(request: ServedRequest): void;
  all(): readonly ServedRequest[];
}

/** Creates an empty log. It forgets the oldest requests beyond `maxRequests` (default 100,000) and `maxIsbns` (default 1,000,000). */
export function createRequestLog(options: { readonly maxRequests?: number; readonly maxIsbns?: number } = {}): RequestLog {
  const { maxRequests = 100_000, maxIsbns = 1_000_000 } = options;
  const kept: ServedRequest[] = [];
  let first = 0;
  let isbns = 0;
  return {
    add(request) {
      kept.push(request);
      isbns += request.isbns?.length ?? 0;
      while (kept.length - first > maxRequests || (isbns > maxIsbns && kept.length - first > 1)) {
        isbns -= kept[first]?.isbns?.length ?? 0;
        first += 1;
      }
      // Removing one entry would move the whole array each time. Removing a tenth at once costs almost nothing per entry.
      if (first > maxRequests / 10) {
        kept.splice(0, first);
        first = 0;
      }
    },
    all: () => kept.slice(first),
  };
}

/** Returns the parameters of a query for the log, with possible secrets replaced. */
export function shownQuery(query: URLSearchParams): Record<string, string> {
  const shown: [string, string][] = [];
  for (const [name, value] of query) shown.push([name, secretParameter.test(name) ? '[secret]' : value]);
  return Object.fromEntries(shown);
}

const secretParameter = /^(?:authorization|oauth_.*|access_token|.*key|.*secret|bearer)$/iu;
